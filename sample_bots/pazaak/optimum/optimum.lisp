;;;; optimum: plays each hand optimally, by dynamic programming over all its continuations.
;;;;
;;;; The value of a hand (1 won, 0 tied, -1 lost) is the mean over the next card of its value after the best move, and so on
;;;; to the end of the hand. Both players make their best moves: the opponent chooses the worst one for us. We know only the
;;;; number of its side cards, so the probability that it has a useful one is computed as well. A side card that is played
;;;; is missing in later hands. That has a price, except if the next hand is the last.
;;;;
;;;; The next card is drawn from the deck without the cards on the table; every later card as if from a full deck. So there
;;;; are few enough hands to store the value of each, and most answers are looked up.

(declaim (optimize (speed 1) (safety 1)))

(defconstant +goal+ 20)
(defconstant +highest+ 10)
(defconstant +copies+ 4)
(defconstant +side-highest+ 5)
(defconstant +side-pool+ 10) ; two of each
(defconstant +side-copies+ 2)
(defconstant +hands-to-win+ 3)
(defconstant +unknown+ 9f0)

(deftype total () '(integer 0 31))
(deftype side-set () '(unsigned-byte 5)) ; bit n - 1: a side card n
(deftype worth () 'single-float)

;;; The price of a side card, in hands: zero in the last hand, otherwise the best value found (0.25 to 0.5 hardly differ).

(declaim (type worth *price*))
(defvar *price* 0f0)

(defparameter *prices* '(0f0 0.25f0))

;;; Stored values: a table for each of our moves and of the opponent's, one for each price.

(defconstant +totals+ 21)
(defconstant +states+ (* 2 2 +totals+ +totals+ 32 6))

(declaim (type (simple-array worth (*)) *ours* *theirs*))
(defvar *ours* (make-array 0 :element-type 'worth))
(defvar *theirs* (make-array 0 :element-type 'worth))

(defun fresh-table ()
  (make-array +states+ :element-type 'worth :initial-element +unknown+))

(declaim (inline place))
(defun place (mine theirs side hidden first other-stands)
  (declare (type total mine theirs) (type side-set side) (type (integer 0 5) hidden))
  (+ hidden
     (* 6 (+ side
             (* 32 (+ theirs
                      (* +totals+ (+ mine
                                     (* +totals+ (+ (if first 1 0) (* 2 (if other-stands 1 0))))))))))))

(defmacro known ((table place) &body body)
  "The value at a place of a table, worked out by the body when it is asked for the first time."
  (let ((where (gensym)) (found (gensym)))
    `(let* ((,where ,place) (,found (aref ,table ,where)))
       (if (< ,found +unknown+)
           ,found
           (setf (aref ,table ,where) (progn ,@body))))))

;;; The deck: the number of remaining cards of each value.

(deftype deck () '(simple-array fixnum (11)))

(declaim (type deck *full-deck*))
(defvar *full-deck*
  (make-array (1+ +highest+) :element-type 'fixnum
                             :initial-contents (cons 0 (make-list +highest+ :initial-element +copies+))))

(defmacro mean-over-cards ((card deck) worth)
  "The mean of what a hand is worth over the next card."
  (let ((sum (gensym)) (cards (gensym)) (left (gensym)))
    `(let ((,sum 0f0) (,cards 0))
       (declare (type worth ,sum) (type fixnum ,cards))
       (loop for ,card of-type (integer 1 11) from 1 to +highest+
             for ,left of-type fixnum = (aref (the deck ,deck) ,card)
             when (plusp ,left)
               do (incf ,cards ,left)
                  (incf ,sum (* ,left (the worth ,worth))))
       (if (zerop ,cards) 0f0 (/ ,sum ,cards)))))

;;; A hand, turn by turn. `first` says whether we are player one; player two's turn ends a turn pair.

(declaim (ftype (function (total total t t side-set (integer 0 5) t deck) worth) after-us after-them our-draw their-draw judged))

(defun points (total)
  (declare (type total total))
  (if (> total +goal+) 0 total))

(defun judged (mine theirs we-stand they-stand side hidden first deck)
  "When both have had their turns: who has won, or what going on is worth."
  (cond ((or (> mine +goal+) (> theirs +goal+)
             (and we-stand (or they-stand (> theirs mine)))
             (and they-stand (> mine theirs)))
         (float (signum (- (the total (points mine)) (the total (points theirs)))) 1f0))
        (first (our-draw mine theirs we-stand they-stand side hidden first deck))
        (t (their-draw mine theirs we-stand they-stand side hidden first deck))))

(defun after-us (mine theirs we-stand they-stand side hidden first deck)
  (if first
      (their-draw mine theirs we-stand they-stand side hidden first deck)
      (judged mine theirs we-stand they-stand side hidden first deck)))

(defun after-them (mine theirs we-stand they-stand side hidden first deck)
  (if first
      (judged mine theirs we-stand they-stand side hidden first deck)
      (our-draw mine theirs we-stand they-stand side hidden first deck)))

(declaim (ftype (function (total total t side-set (integer 0 5) t) worth) our-move)
         (ftype (function (total total t side-set (integer 0 5) t) worth) their-move))

(defun our-draw (mine theirs we-stand they-stand side hidden first deck)
  (if we-stand
      (after-us mine theirs t they-stand side hidden first deck)
      (mean-over-cards (card deck) (our-move (+ mine card) theirs they-stand side hidden first))))

(defun their-draw (mine theirs we-stand they-stand side hidden first deck)
  (if they-stand
      (after-them mine theirs we-stand t side hidden first deck)
      (mean-over-cards (card deck) (their-move mine (+ theirs card) we-stand side hidden first))))

(defun our-best (mine theirs they-stand side hidden first deck)
  "Our best move and what it is worth: END, STAND or the side card to play."
  (declare (type total mine theirs) (type side-set side))
  (let ((best :stand)
        (most (after-us mine theirs t they-stand 0 hidden first deck)))
    (declare (type worth most))
    (flet ((try (move worth)
             (when (> worth most)
               (setf best move most worth))))
      (loop for card from (min +side-highest+ (- +goal+ mine)) downto 1
            when (logbitp (1- card) side)
              do (try card (- (after-us (+ mine card) theirs t they-stand 0 hidden first deck) *price*)))
      (try :end (after-us mine theirs nil they-stand side hidden first deck)))
    (values best most)))

(defun our-move (mine theirs they-stand side hidden first)
  (cond ((> mine +goal+) (after-us mine theirs t they-stand 0 hidden first *full-deck*))
        ((> theirs +goal+) 1f0)
        (t (known (*ours* (place mine theirs side hidden first they-stand))
             (nth-value 1 (our-best mine theirs they-stand side hidden first *full-deck*))))))

(defun chance-of-none (values hidden)
  "How likely it is that none of so many side cards has one of so many values."
  (loop with chance = 1f0
        for drawn from 0 below hidden
        do (setf chance (* chance (/ (max 0 (- +side-pool+ (* +side-copies+ values) drawn)) (- +side-pool+ drawn))))
        finally (return chance)))

(declaim (type (simple-array worth (6 6)) *chances-of-none*))
(defvar *chances-of-none*
  (let ((table (make-array '(6 6) :element-type 'worth)))
    (dotimes (values 6 table)
      (dotimes (hidden 6)
        (setf (aref table values hidden) (chance-of-none values hidden))))))

(defun their-move (mine theirs we-stand side hidden first)
  "What a hand is worth if the opponent makes the move that is worst for us, of those it is likely to have."
  (cond ((> theirs +goal+) (after-them mine theirs we-stand t side 0 first *full-deck*))
        ((> mine +goal+) -1f0)
        (t (known (*theirs* (place mine theirs side hidden first we-stand))
             (let* ((worst (min (after-them mine theirs we-stand t side 0 first *full-deck*)
                                (after-them mine theirs we-stand nil side hidden first *full-deck*)))
                    (plays (sort (loop for card from 1 to (min +side-highest+ (- +goal+ theirs))
                                       for worth of-type worth
                                         = (+ (after-them mine (+ theirs card) we-stand t side 0 first *full-deck*)
                                              *price*)
                                       when (< worth worst) collect worth)
                                 #'<)))
               (declare (type worth worst))
               (loop with sum of-type worth = 0f0
                     for worth of-type worth in plays
                     for better from 0
                     do (incf sum (* worth (- (aref *chances-of-none* better hidden)
                                              (aref *chances-of-none* (1+ better) hidden))))
                     finally (return (+ sum (* worst (aref *chances-of-none* (length plays) hidden))))))))))

;;; A question, "0 0 1 8 - 1,2,4,5 4 - 0", and its answer.

(defun fields (line separator)
  (loop for start = 0 then (1+ end)
        for end = (position separator line :start start)
        collect (subseq line start end)
        while end))

(defun cards (field)
  (unless (string= field "-")
    (mapcar #'parse-integer (fields field #\,))))

(defun unseen (hands)
  "The house cards that are not on the table, side cards counted as if they were the house's."
  (let ((deck (copy-seq *full-deck*)))
    (dolist (card hands deck)
      (setf (aref deck card) (max 0 (1- (aref deck card)))))))

(defvar *tables* (loop for nil in *prices* collect (list (fresh-table) (fresh-table))))

(defun answer (line)
  (destructuring-bind (wins-one wins-two player-one mine theirs side hidden action did-play) (fields line #\Space)
    (declare (ignore did-play))
    (let* ((mine (cards mine)) (theirs (cards theirs))
           (last-hand (= (parse-integer wins-one) (parse-integer wins-two) (1- +hands-to-win+)))
           (*price* (elt *prices* (if last-hand 0 1)))
           (ours-and-theirs (elt *tables* (if last-hand 0 1)))
           (*ours* (first ours-and-theirs))
           (*theirs* (second ours-and-theirs))
           (they-stand (string= action "STAND")))
      (if (or (> (reduce #'+ mine) +goal+) (> (reduce #'+ theirs) +goal+))
          :stand
          (values (our-best (reduce #'+ mine) (reduce #'+ theirs) they-stand
                            (reduce #'logior (mapcar (lambda (card) (ash 1 (1- card))) (cards side)))
                            (if they-stand 0 (parse-integer hidden))
                            (string= player-one "1")
                            (unseen (append mine theirs))))))))

(defun main ()
  "Answer waves of questions, up to `parallel_tables` lines at once: what has been said leaves when nothing more can be heard."
  (loop for line = (read-line *standard-input* nil)
        while line
        do (let ((move (answer line)))
             (case move
               (:stand (write-line "STAND"))
               (:end (write-line "END"))
               (t (format t "PLAY ~d~%" move))))
           (unless (listen *standard-input*)
             (finish-output))))

(main)
