/** What LevelDB tells of one of its levels since it was opened. */
export interface LevelStatistics {
  level: number
  tables: number
  sizeBytes: number
  /** Of compactions into it. */
  seconds: number
  readBytes: number
  writtenBytes: number
}

const MEBIBYTE = 1024 * 1024

/** Reads LevelDB's property `leveldb.stats`: a table with a line for each level that is not empty. */
export function parseLevelStatistics(text: string): LevelStatistics[] {
  const rows = text.matchAll(/^ *(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) *$/gm)
  return [...rows].map((row) => {
    const [level = 0, tables = 0, size = 0, seconds = 0, read = 0, written = 0] = row.slice(1).map(Number)
    return {
      level,
      tables,
      sizeBytes: size * MEBIBYTE,
      seconds,
      readBytes: read * MEBIBYTE,
      writtenBytes: written * MEBIBYTE,
    }
  })
}
