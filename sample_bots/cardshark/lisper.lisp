;;;; lisper: stands at a score that depends on the dealer's visible card; bets a quarter of its chips on 20 and 21.
;;;;
;;;; Run as `sbcl --script lisper.lisp score hand visible stake chips`.

(defconstant +buy-in+ 10)

(defun points (card)
  "What a card counts, an ace as 1."
  (cond ((char= card #\A) 1)
        ((digit-char-p card))
        (t 10)))

(defun soft-p (score hand)
  "True when an ace counts 11: then no card can break the hand."
  (/= score (reduce #'+ hand :key #'points)))

(defun limit (score hand up-card)
  "The score to stand on: a dealer who shows 2 to 6 often goes bust, so let him."
  (cond ((soft-p score hand) 18)
        ((find up-card "23456") 12)
        (t 17)))

(defun move (score hand visible stake chips)
  (let ((bet (floor chips 4)))
    (cond ((< score (limit score hand (char visible 0))) "H")
          ((and (>= score 20) (= stake +buy-in+) (>= bet 1)) (format nil "B ~d" bet))
          (t "S"))))

(defun main ()
  ;; The question is the last five arguments, after `sbcl --script FILE`.
  (destructuring-bind (score hand visible stake chips) (last sb-ext:*posix-argv* 5)
    (write-line (move (parse-integer score) hand visible (parse-integer stake) (parse-integer chips)))
    (finish-output)))

(main)
