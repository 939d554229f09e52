#pragma once
#include <array>
#include <string>

namespace pokerbots::skeleton {
inline constexpr int NUM_ROUNDS = 1000, STARTING_STACK = 400, BIG_BLIND = 2, SMALL_BLIND = 1;
}
