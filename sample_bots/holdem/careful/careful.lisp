;;;; careful: has a maximum price for each kind of hand, and folds above it.
;;;;
;;;; Only what its own cards add to the board counts: two pairs on the board are worth nothing. It computes no
;;;; probabilities and ignores draws, so it is easy to understand, and easy to bluff.

(defstruct question chips hand board low high others)

;;; Cards are (rank . suit), sorted like in the engine of 2018.

(defun cards (names)
  "The sorted cards of a text like 3dKs; none for -."
  (sort (loop for at from 0 below (1- (length names)) by 2
              collect (cons (+ 2 (position (char names at) "23456789TJQKA"))
                            (position (char names (1+ at)) "chds")))
        (lambda (a b) (if (= (car a) (car b)) (< (cdr a) (cdr b)) (< (car a) (car b))))))

(defun run (sorted)
  "The topmost five neighbours; a pair inside them breaks them, and the last ace stands below the two as well."
  (let* ((ace (find 14 sorted :key #'car :from-end t))
         (line (coerce (if ace (cons (cons 1 (cdr ace)) sorted) sorted) 'vector)))
    (loop for top downfrom (1- (length line)) to 4
          for five = (coerce (subseq line (- top 4) (1+ top)) 'list)
          when (loop for (one other) on five always (or (null other) (= (car other) (1+ (car one)))))
            return five)))

(defun flush-rank (sorted)
  "The fifth lowest rank of a suit that has five cards or more: that is how a flush counted."
  (loop for suit below 4
        for suited = (remove suit sorted :key #'cdr :test-not #'=)
        when (>= (length suited) 5) return (car (fifth suited))))

(defun worth (cards)
  "Category and rank in one number, as the 2018 engine ranked hands: no kickers."
  (let* ((sorted (sort (copy-list cards) (lambda (a b) (if (= (car a) (car b)) (< (cdr a) (cdr b)) (< (car a) (car b))))))
         (ranks (mapcar #'car sorted))
         (run (run sorted)))
    (labels ((top-of (amount)               ; the highest rank that is there so often
               (loop for rank in (reverse ranks) when (= (count rank ranks) amount) return rank))
             (value (category rank) (+ (* 16 category) rank)))
      (cond ((and run (loop for (nil . suit) in run always (= suit (cdr (first run)))))
             (value (if (= (car (fifth run)) 14) 10 9) (car (fifth run))))
            ((top-of 4) (value 8 (top-of 4)))
            ((and (top-of 3) (top-of 2)) (value 7 (top-of 3)))
            ((flush-rank sorted) (value 6 (flush-rank sorted)))
            (run (value 5 (car (fifth run))))
            ((top-of 3) (value 4 (top-of 3)))
            ((top-of 2) (value (if (> (count-if (lambda (rank) (= (count rank ranks) 2)) ranks) 2) 3 2) (top-of 2)))
            (t (value 1 (car (last ranks))))))))

;;; The amount that it bets by itself, and the most that it pays, as shares of its chips.

(defparameter *prices*
  '((1 0    0)                            ; a high card
    (2 1/50 1/12)                         ; a pair
    (3 1/12 1/5)                          ; two pairs
    (4 1/8  2/5)                          ; three of a kind
    (5 1/6  2/3)                          ; a straight
    (6 1/5  1)))                          ; a flush and better

(defun before-the-flop (hand)
  "Wish and price of two cards."
  (destructuring-bind ((low . one) (high . other)) hand
    (cond ((and (= low high) (>= low 10)) '(1/40 1/3))
          ((= low high) '(0 1/15))
          ((>= low 11) '(0 1/15))
          ((or (>= low 10) (= high 14) (and (= one other) (>= high 12))) '(0 1/40))
          (t '(0 0)))))

(defun prices (question)
  (let ((hand (question-hand question)) (board (question-board question)))
    (if (null board)
        (before-the-flop hand)
        (let ((ours (worth (append hand board))) (shared (worth board)))
          (rest (assoc (if (= (floor ours 16) (floor shared 16)) 1 (min 6 (floor ours 16))) *prices*))))))

(defun answer (question)
  (destructuring-bind (wish price) (prices question)
    (let* ((chips (question-chips question))
           (low (question-low question))
           (bet (floor (* wish chips))))
      (cond ((zerop (question-others question)) low)       ; nobody is left: the pot is ours for the least bet
            ((> bet low) (min bet (question-high question)))
            ((<= low (* price chips)) low)
            ((and (= low 1) (question-board question) (< (length (question-board question)) 5)) low) ; the next card is cheap
            (t 0)))))

;;; Lines in, lines out.

(defun fields (line separator)
  (loop for start = 0 then (1+ end)
        for end = (position separator line :start start)
        collect (subseq line start end)
        while end))

(defun living (field)
  (count-if (lambda (player) (char= (char player (1- (length player))) #\0))
            (remove "-" (fields field #\,) :test #'string=)))

(defun read-question (line)
  (destructuring-bind (chips hand acted to-come board low high total) (fields line #\Space)
    (declare (ignore total))
    (make-question :chips (parse-integer chips) :hand (cards hand) :board (cards board)
                   :low (parse-integer low) :high (parse-integer high)
                   :others (+ (living acted) (living to-come)))))

(defun main ()
  (loop for line = (read-line *standard-input* nil)
        while line
        do (format t "~d~%" (answer (read-question line)))
           (unless (listen *standard-input*) (finish-output)))) ; all questions that are there are answered in one go

(main)
