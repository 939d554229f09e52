package javabot.skeleton;

public class State {
    public static final int NUM_ROUNDS = 1000;
    public static final int STARTING_STACK = 400;
    public static final int BIG_BLIND = 2;
    public static final int SMALL_BLIND = 1;
}
