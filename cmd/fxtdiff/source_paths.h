/* source_paths.h - files as CI systems name them.  */
#ifndef FXTDIFF_SOURCE_PATHS_H
#define FXTDIFF_SOURCE_PATHS_H

/* A path of the debug information relative to the repository, if its file lies there, else without
 * "." and ".."; from malloc().  The repository is that of $GITHUB_WORKSPACE, $CI_PROJECT_DIR or
 * $WORKSPACE, or that of the working directory.  */
char *diff_source_path(const char *file);

/* The file that describes the job which runs now, relative to the repository, from malloc(); NULL:
 * unknown.  */
char *diff_workflow_path(void);

#endif /* FXTDIFF_SOURCE_PATHS_H */
