import sys
for line in sys.stdin:
    print('END', flush=True)  # 
