// Undercut, as a judge of Botzone: the same game as undercut_python. It finds the numbers of interest by their names.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

static long number_after(const std::string &text, const std::string &name, long otherwise)
{
    size_t found = text.rfind("\"" + name + "\":");
    return found == std::string::npos ? otherwise : atol(text.c_str() + found + name.size() + 3);
}

int main()
{
    std::string text;
    getline(std::cin, text);
    size_t initdata = text.rfind("\"initdata\":");
    std::string init = text.substr(initdata);
    long turns = number_after(init, "turns", 3 + number_after(init, "seed", 0) % 3);
    std::vector<long> said;
    for (size_t at = 0; (at = text.find("\"response\":", at)) != std::string::npos && at < initdata; at++)
        said.push_back(atol(text.c_str() + at + 11));  // null is read as 0
    long points[2] = {0, 0}, last[2] = {0, 0};
    bool wrong[2] = {false, false};
    for (size_t i = 0; i + 1 < said.size(); i += 2) {
        long one = said[i], other = said[i + 1];
        wrong[0] = one < 1 || one > 5;
        wrong[1] = other < 1 || other > 5;
        if (wrong[0] || wrong[1])
            break;
        last[0] = one;
        last[1] = other;
        if (labs(one - other) == 1)
            points[one < other ? 0 : 1] += one + other;
        else
            points[0] += one, points[1] += other;
    }
    size_t turn = said.size() / 2;
    std::string display = "\"display\":{\"turn\":" + std::to_string(turn) + ",\"last\":[" + std::to_string(last[0]) + "," +
        std::to_string(last[1]) + "],\"points\":[" + std::to_string(points[0]) + "," + std::to_string(points[1]) + "]}";
    if (wrong[0] || wrong[1] || turn == (size_t)turns) {
        long sign = (points[0] > points[1]) - (points[0] < points[1]);
        long scores[2] = {1 + sign, 1 - sign};
        for (int player = 0; player < 2; player++)
            if (wrong[0] || wrong[1])
                scores[player] = wrong[player] ? 0 : 2;
        std::cout << "{\"command\":\"finish\",\"content\":{\"0\":" << scores[0] << ",\"1\":" << scores[1] << "}," << display
                  << "}\n";
    } else {
        std::cout << "{\"command\":\"request\",\"content\":{";
        for (int player = 0; player < 2; player++)
            std::cout << (player ? "," : "") << "\"" << player << "\":{\"turn\":" << turn << ",\"turns\":" << turns
                      << ",\"last\":" << last[1 - player] << "}";
        std::cout << "}," << display << ",\"initdata\":{\"turns\":" << turns << "}}\n";
    }
}
