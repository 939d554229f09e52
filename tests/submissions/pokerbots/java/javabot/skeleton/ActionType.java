package javabot.skeleton;

public enum ActionType { FOLD_ACTION_TYPE, CALL_ACTION_TYPE, CHECK_ACTION_TYPE, RAISE_ACTION_TYPE }
