import { describeError } from './errors.ts'

/** Words for the system's codes, which say little to whoever named the file. */
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

/** The system's refusal to read or write a file, as Node throws it. */
export type FileError = NodeJS.ErrnoException & { code: string }

export function isFileError(error: unknown): error is FileError {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return false
  return String(error.code) in WORDS && !/^(spawn|listen|bind|connect)/.test(String(error.syscall))
}

/** Why a file cannot be read or written, without its path. */
export function describeFileError(error: unknown): string {
  return (isFileError(error) ? WORDS[error.code] : undefined) ?? describeError(error)
}
