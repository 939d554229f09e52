;;; Goofspiel over referee/1. Both bots bid a card for each prize; the higher bid takes it, equal bids take nothing.
;;; A fault, or a card that the bot does not hold, bids its lowest card.

(defvar *tables* (make-hash-table))

(defstruct table-state
  prizes                                ; those that are left, the next one first
  hands                                 ; of both seats, in ascending order
  (points (list 0 0)))

;;; croupier writes JSON without blanks, and its members in the order of the manual, so a search can read it.

(defun after (key line &optional (start 0))
  "Return the index after the next KEY, or nil."
  (let ((found (search key line :start2 start)))
    (and found (+ found (length key)))))

(defun number-at (line start &optional (radix 10))
  "Return the number at an index."
  (parse-integer line :start start :radix radix :junk-allowed t))

(defun shuffled (words cards)
  "The shuffle of protocols/referee.md: the last card of the list moves to the place of the drawn card."
  (let ((list (coerce cards 'vector)))
    (loop for left from (length list) downto 1
          for word in words
          for at = (mod word left)
          collect (aref list at)
          do (setf (aref list at) (aref list (1- left))))))

(defun json (numbers)
  (format nil "[~{~d~^,~}]" numbers))

(defun say-next (number table comma)
  "Write the end of a line: the next prize with its questions, or the scores."
  (destructuring-bind (first-points second-points) (table-state-points table)
    (cond ((null (table-state-prizes table))
           (remhash number *tables*)
           (format t "],\"over\":{\"scores\":[~d,~d]}}~%" first-points second-points))
          (t
           (let ((prize (first (table-state-prizes table))))
             (format t "~a{\"event\":\"board\",\"cards\":[~d]}],\"ask\":[" comma prize)
             (dotimes (seat 2)
               (format t "~:[,~;~]{\"seat\":~d,\"view\":{\"prize\":~d,\"your_points\":~d,\"opponent_points\":~d,"
                       (zerop seat) seat prize
                       (nth seat (table-state-points table)) (nth (- 1 seat) (table-state-points table)))
               (format t "\"your_cards\":~a,\"opponent_cards\":~a}}"
                       (json (nth seat (table-state-hands table))) (json (nth (- 1 seat) (table-state-hands table)))))
             (format t "]}~%"))))))

(defun open-table (line)
  (let* ((number (number-at line (after "{\"open\":" line)))
         (cards (loop for card from 1 to (number-at line (after "\"cards\":" line)) collect card))
         (words (loop with start = (after "\"shuffle\":[" line)
                      for nth below (length cards)
                      collect (number-at line (+ start 1 (* 19 nth)) 16)))
         (table (make-table-state :prizes (shuffled words cards) :hands (list cards cards))))
    (setf (gethash number *tables*) table)
    (format t "{\"table\":~d,\"tell\":[" number)
    (dotimes (seat 2)
      (format t "{\"event\":\"deal\",\"seat\":~d,\"cards\":~a}," seat (json cards)))
    (say-next number table "")))

(defun bid (move hand)
  "Return the card that a move bids, and whether it is illegal."
  (cond ((eql 0 (search "HIGH" move)) (values (first (last hand)) nil))
        ((eql 0 (search "BID " move))
         (let ((card (number-at move 4)))
           (if (member card hand) (values card nil) (values (first hand) t))))
        (t (values (first hand) nil))))

(defun answer-table (line)
  (let* ((number (number-at line (after "{\"table\":" line)))
         (table (gethash number *tables*))
         (hands (table-state-hands table))
         (at 0) bids illegal)
    (dotimes (seat 2)                   ; both were asked, seat 0 first
      (setf at (after "{\"seat\":" line at))
      (let ((move (if (eql (search ",\"move\":\"" line :start2 (1+ at)) (1+ at))
                      (subseq line (+ at 10) (position #\" line :start (+ at 10)))
                      "")))
        (multiple-value-bind (card wrong) (bid move (nth seat hands))
          (push card bids)
          (when wrong (push seat illegal)))))
    (setf bids (nreverse bids) illegal (nreverse illegal))
    (setf (table-state-hands table) (mapcar (lambda (hand card) (remove card hand)) hands bids))
    (format t "{\"table\":~d~@[,\"illegal\":~a~],\"tell\":[" number (and illegal (json illegal)))
    (loop for card in bids for seat from 0
          do (format t "{\"event\":\"play\",\"seat\":~d,\"cards\":[~d]}," seat card))
    (format t "{\"event\":\"discard\",\"cards\":~a}" (json bids))
    (let ((prize (pop (table-state-prizes table))))
      (unless (apply #'= bids)
        (let ((taker (if (apply #'> bids) 0 1)))
          (setf (table-state-points table) (copy-list (table-state-points table)))
          (incf (nth taker (table-state-points table)) prize)
          (format t ",{\"event\":\"take\",\"seat\":~d,\"cards\":[~d]}" taker prize)
          (format t ",{\"event\":\"score\",\"seat\":~d,\"points\":~d}" taker (nth taker (table-state-points table))))))
    (say-next number table ",")))

(defun handle (line)
  (cond ((eql 0 (search "{\"protocol\"" line)) (format t "{\"protocol\":\"referee/1\"}~%"))
        ((eql 0 (search "{\"open\"" line)) (open-table line))
        ((eql 0 (search "{\"drop\":" line)) (remhash (number-at line 8) *tables*))
        (t (answer-table line))))

(loop for line = (read-line *standard-input* nil)
      while line
      do (handle line)
         (unless (listen *standard-input*) ; everything that is available has been handled
           (finish-output)))
