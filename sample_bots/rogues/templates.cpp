// Makes the compiler instantiate more templates than there is memory for. Verdict: refused at the build.
template <unsigned depth, unsigned long path> struct Tree {
    static const unsigned long leaves = Tree<depth - 1, 2 * path>::leaves + Tree<depth - 1, 2 * path + 1>::leaves;
};
template <unsigned long path> struct Tree<0, path> { static const unsigned long leaves = 1; };

int main() { return Tree<40, 1>::leaves != 0; }
