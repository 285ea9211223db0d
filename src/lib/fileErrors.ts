import { describeError } from './errors.ts'

/** Explanations of system error codes for the operator. */
const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'the system does not permit it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of the path is not a directory',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open (see ulimit -n)',
}

/** A system error from reading or writing a file, as Node throws it. */
export type FileError = NodeJS.ErrnoException & { code: string }

export function isFileError(error: unknown): error is FileError {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return false
  return String(error.code) in WORDS && !/^(spawn|listen|bind|connect)/.test(String(error.syscall))
}

/** The reason why a file cannot be read or written. The path is not included. */
export function describeFileError(error: unknown): string {
  return (isFileError(error) ? WORDS[error.code] : undefined) ?? describeError(error)
}
