"""Mount a fresh /proc, to see processes and their files.

guarantee: no-host-files
layer: kernel
wins: prints
control: root - mounting needs CAP_SYS_ADMIN
"""

call("mount", "proc", TARGET["inbox"], "proc", 0, 0)
print("WON mounted", os.listdir(TARGET["inbox"])[:3])
