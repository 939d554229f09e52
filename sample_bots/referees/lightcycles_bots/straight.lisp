;;; Drives straight on while it can, then in the first free direction.

(defun words (line separator)
  (loop for start = 0 then (1+ end)
        for end = (position separator line :start start)
        collect (subseq line start end)
        while end))

(let ((before ""))
  (loop for line = (read-line *standard-input* nil)
        while line
        do (let* ((fields (words line #\Space))
                  (free (words (nth 6 fields) #\,)))
             (when (string= (nth 1 fields) "1") ; a new table
               (setf before ""))
             (setf before (cond ((member before free :test #'string=) before)
                                ((string= (first free) "-") "UP")
                                (t (first free))))
             (format t "~a~%" before)
             (finish-output))))
