;;;; Runs a shell while it is compiled, and tries to leave a process behind. Verdict: harmless.
(eval-when (:compile-toplevel)
  (ignore-errors (sb-ext:run-program "/bin/sh" '("-c" "setsid sleep 1000 & echo planted > /etc/planted") :wait nil)))
(format t "S~%")
