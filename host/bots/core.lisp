;;;; Parts a script in two, for a saved core: what it begins with, as long as that does the same whenever it is loaded, is
;;;; compiled into one fasl; all from the first form on that may look at the world or do something in it, into another.
;;;;
;;;; The first is loaded once, by the build, and saved; the second at every start, in the place of the whole. A form of
;;;; which nothing is known belongs to the second: that is only slower.

(defpackage "CROUPIER" (:use "COMMON-LISP"))
(in-package "CROUPIER")

(defvar *globals* '()
  "The variables that the first part has defined so far.")

(defparameter *pure*
  '(* + - / 1+ 1- abs append aref ash car cdr ceiling char char-code code-char coerce complex concatenate cons copy-
    list copy-seq copy-tree denominator elt exp expt first float floor gcd isqrt last lcm length list list* log logand
    logior lognot logxor make-array make-hash-table make-list make-string max min mod nth numerator rational
    rationalize rem rest reverse round second sqrt string string-downcase string-upcase subseq third truncate vector)
  "Functions that call nothing of the bot's and look at nothing but their arguments.")

(defun own-p (symbol)
  "Whether a symbol is the bot's own: what Lisp and SBCL have is not for it to define."
  (and (symbolp symbol) symbol (not (keywordp symbol)) (symbol-package symbol)
       (not (sb-ext:package-locked-p (symbol-package symbol)))))

(defun mentions-p (symbol form)
  "Whether a symbol is anywhere in a form, a backquoted one too."
  (typecase form
    (cons (loop for rest = form then (cdr rest)
                while (consp rest)
                  thereis (mentions-p symbol (car rest))
                finally (return (mentions-p symbol rest))))
    (sb-impl::comma (mentions-p symbol (sb-impl::comma-expr form)))
    (simple-vector (some (lambda (part) (mentions-p symbol part)) form))
    (t (eq symbol form))))

(defun constant-p (form)
  "Whether a form has the same value, or a like one, whenever it is worked out."
  (typecase form
    (symbol (or (constantp form) (member form *globals*)))
    (cons (case (first form)
            ((quote function lambda) t)
            (t (and (member (first form) *pure*) (every #'constant-p (rest form))))))
    (t t)))

(defun method-p (form)
  "Whether a DEFMETHOD is one for the bot's own objects: a method for classes themselves would run at the next DEFCLASS."
  (let ((required (loop for parameter in (find-if #'listp (cddr form))
                        until (member parameter lambda-list-keywords)
                        collect parameter)))
    (flet ((own-function-p (name)
             (own-p (if (consp name) (second name) name)))
           (specializer (parameter)
             (if (consp parameter) (second parameter) t)))
      (and (every (lambda (parameter)
                    (let ((class (specializer parameter)))
                      (if (consp class) (constant-p (second class)) (symbolp class))))
                  required)
           (or (own-function-p (second form))
               (every (lambda (parameter) (own-p (specializer parameter))) (subseq required 0 (min 1 (length required)))))))))

(defun global-p (form)
  "Whether a definition of a variable gives it the same value whenever it is loaded; it is known from then on."
  (destructuring-bind (name &optional (value nil) &rest documentation) (rest form)
    (declare (ignore documentation))
    (when (and (own-p name) (constant-p value))
      (when (cddr form)
        (push name *globals*))
      t)))

(defun requirable-p (form)
  "Whether a REQUIRE is of a module that comes with SBCL."
  (let ((module (second form)))
    (and (null (cddr form)) (or (stringp module) (keywordp module))
         (eql 0 (search "SB-" (string-upcase module))))))

(declaim (ftype function inner-p))

(defun lasting-p (form)
  "Whether a top-level form does the same whenever it is loaded."
  (and (consp form) (ignore-errors (list-length form))
       (not (mentions-p 'load-time-value form))
       (case (first form)
         ((declaim defmacro deftype defsetf define-modify-macro define-symbol-macro define-compiler-macro define-condition
           defpackage defstruct defun in-package)
          t)
         (defclass (not (assoc :metaclass (nthcdr 4 form))))
         (defgeneric (every (lambda (option) (member (car option) '(:documentation declare))) (cdddr form)))
         (defmethod (method-p form))
         ((defconstant defparameter defvar sb-ext:defglobal) (global-p form))
         (require (requirable-p form))
         (eval-when (and (subsetp '(:compile-toplevel :load-toplevel) (second form)) (every #'inner-p (cddr form))))
         (progn (every #'inner-p (rest form))))))

(defun inner-p (form)
  "The same of a form inside of another: what is said to the reader and the compiler must stand alone."
  (and (lasting-p form) (not (member (first form) '(declaim in-package)))))

(defun said-to-the-compiler-p (form)
  "Whether a form is for its own file only, and so must stand in both."
  (or (eq (first form) 'in-package)
      (and (eq (first form) 'declaim) (mentions-p 'optimize form))))

(defun understand (form)
  "Have the reader know what a form defines or requires for it."
  (case (first form)
    ((defpackage in-package require) (eval form))
    (eval-when (mapc #'eval (cddr form)))
    (progn (mapc #'understand (rest form)))))

(defun blank (text start end)
  "Leave the lines of a part of a text, and nothing on them."
  (loop for at from start below end
        unless (char= (char text at) #\Newline)
          do (setf (char text at) #\Space)))

(defun parted (text)
  "The two parts of a text, each with its lines where they were."
  (let* ((lasting (copy-seq text)) (rest (copy-seq text)) (at 0) (*package* *package*) (*readtable* (copy-readtable)))
    (handler-case
        (loop
          (multiple-value-bind (form end) (read-from-string text nil text :start at)
            (unless (lasting-p form)
              (return))
            (understand form)
            (unless (said-to-the-compiler-p form)
              (blank rest at end))
            (setf at end)))
      (error ()))                       ; what cannot be read now is read behind what stands before it
    (blank lasting at (length text))
    (values lasting rest)))

(defun content (path)
  "What a script says, without the line that is for the shell."
  (with-open-file (file path :external-format :utf-8)
    (let* ((room (make-string (file-length file))) (text (subseq room 0 (read-sequence room file))))
      (when (eql 0 (search "#!" text))
        (blank text 0 (or (position #\Newline text) (length text))))
      text)))

(defun compiled (text name beside)
  "The fasl of a text, by a name, beside a file; NIL when it could not be compiled."
  (let ((source (merge-pathnames (make-pathname :name name :type "lisp") beside)))
    (with-open-file (file source :direction :output :if-exists :error :external-format :utf-8)
      (write-string text file))
    (multiple-value-bind (made warned failed) (compile-file source)
      (declare (ignore warned))
      (delete-file source)
      (and (not failed) made))))

(defun part (path)
  "Compile a script's two parts, and exit; without the second nothing is to be saved of the first."
  (let ((*package* (find-package "COMMON-LISP-USER")))
    (multiple-value-bind (lasting rest) (parted (content path))
      (let ((made (compiled lasting "bot-core" path)))
        (when (and made (compiled rest "bot-rest" path))
          (sb-ext:exit :code 0))
        (when made
          (delete-file made))
        (sb-ext:exit :code 1)))))
