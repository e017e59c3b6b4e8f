"""The page Classroom: a lesson as its teacher makes it, and as students see it.

state    which lesson, and the task at hand
page     which of the two faces is shown
making   the teacher's: texts, prompts, pages, tasks
tasks    the students': questions, and the ways to their figures
opened   what is chosen where a task's figure is opened
sheets   the lesson on paper, with its figures
at_hand  the line above other pages that says the question
"""
