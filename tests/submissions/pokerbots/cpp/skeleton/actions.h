#pragma once

namespace pokerbots::skeleton {
struct Action {
    enum Type { FOLD, CALL, CHECK, RAISE };
    Type actionType;
    int amount;
    Action(Type type = Type::CHECK, int amount = 0) : actionType(type), amount(amount) {}
};
}
