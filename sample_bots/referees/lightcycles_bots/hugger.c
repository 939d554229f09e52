/* Stays close to walls: it drives to the free place with the most walls around it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *NAMES[] = {"UP", "DOWN", "LEFT", "RIGHT"};
static const int DX[] = {0, 0, -1, 1}, DY[] = {-1, 1, 0, 0};
static int width, height;
static char grid[4096];

static int is_free(int x, int y)
{
    return x >= 0 && x < width && y >= 0 && y < height && grid[y * (width + 1) + x] == '.';
}

int main(void)
{
    char heads[256], free_ways[64];
    int you;
    while (scanf("%d %*d %d %d %255s %4095s %63s", &you, &width, &height, heads, grid, free_ways) == 6) {
        char *head = strtok(heads, ",");
        for (int seat = 0; seat < you; seat++)
            head = strtok(NULL, ",");
        int x = atoi(head), y = atoi(strchr(head, ':') + 1), best = -1;
        const char *way = "UP";
        for (int each = 0; each < 4; each++) {
            int walls = 0, to_x = x + DX[each], to_y = y + DY[each];
            if (strstr(free_ways, NAMES[each]) == NULL)
                continue;
            for (int beside = 0; beside < 4; beside++)
                walls += !is_free(to_x + DX[beside], to_y + DY[beside]);
            if (walls < 4 && walls > best) {
                best = walls;
                way = NAMES[each];
            } else if (best < 0)
                way = NAMES[each];
        }
        printf("%s\n", way);
        fflush(stdout);
    }
    return 0;
}
