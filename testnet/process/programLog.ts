import { closeSync, fstatSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeDirectory } from '../../src/lib/makeDirectory.ts'

/** 20 MB of each log are kept: 10 MB in the file, and 10 MB in the copy of earlier output. */
const FILE_BYTES = 10_000_000
const PIECE_BYTES = 1 << 20

/**
 * The log of a program that holds the file open and appends to it. A full file is copied to `<path>.1` and truncated, so the
 * program and `tail -f` continue with the same file.
 */
export class ProgramLog {
  readonly path: string
  private readonly fileBytes: number
  /** Offset of this run's start in the file. Negative if the start is in the copy. */
  private runStart = 0

  constructor(path: string, { fileBytes = FILE_BYTES }: { fileBytes?: number } = {}) {
    this.path = path
    this.fileBytes = fileBytes
  }

  /** Opens the file for a new run of the program. The caller closes it. */
  open(): number {
    makeDirectory(dirname(this.path))
    const file = openSync(this.path, 'a')
    this.trim()
    this.runStart = fstatSync(file).size
    return file
  }

  /** The output of this run, at most its last `maxBytes`. */
  read(maxBytes: number): string {
    const size = sizeOf(this.path)
    const bytes = Math.min(maxBytes, size - this.runStart)
    const older = readEnd(this.older, bytes - size)
    return Buffer.concat([older, readEnd(this.path, Math.min(bytes, size))]).toString()
  }

  /**
   * Truncates a full file. A line that the program writes between the last read and the truncation is lost: a window of
   * microseconds, once in 10 MB.
   */
  trim(): void {
    if (sizeOf(this.path) <= this.fileBytes) return
    try {
      this.runStart -= moveEnd(this.path, this.older, this.fileBytes)
    } catch {
      // The disk is full, or the directory was removed. The programs report it, and the next check retries.
    }
  }

  private get older(): string {
    return `${this.path}.1`
  }
}

/** Copies the last bytes of a file to another file, and truncates the first. Returns its length. */
function moveEnd(from: string, to: string, bytes: number): number {
  const file = openSync(from, 'r+')
  const copy = openSync(to, 'w')
  try {
    let place = fstatSync(file).size - bytes
    const piece = Buffer.alloc(PIECE_BYTES)
    for (let length = -1; length !== 0; place += length) {
      length = readSync(file, piece, 0, piece.length, place)
      writeSync(copy, piece, 0, length)
    }
    ftruncateSync(file, 0)
    return place
  } finally {
    closeSync(copy)
    closeSync(file)
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** The last bytes of a file, or all if it is shorter. */
function readEnd(path: string, bytes: number): Buffer {
  const length = Math.min(bytes, sizeOf(path))
  if (length <= 0) return Buffer.alloc(0)
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.alloc(length)
    return buffer.subarray(0, readSync(file, buffer, 0, length, fstatSync(file).size - length))
  } finally {
    closeSync(file)
  }
}
