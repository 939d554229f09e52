import sys
for line in sys.stdin:
    print('STAND', flush=True)  # 
