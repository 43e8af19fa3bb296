"""Who does the work, where and when: engines know no mathematics. And what it has cost."""
