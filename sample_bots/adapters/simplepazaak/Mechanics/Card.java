package Mechanics;

/** A card. It has only a value, and is equal to every card of the same value. */
public class Card {
    private final int value;

    public Card() {
        this(0);
    }

    public Card(int value) {
        this.value = value;
    }

    public int getValue() {
        return value;
    }

    @Override
    public String toString() {
        return Integer.toString(value);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Card && ((Card) other).value == value;
    }

    @Override
    public int hashCode() {
        return value;
    }
}
