/** LevelDB's statistics of one level since it was opened. */
export interface LevelStatistics {
  level: number
  tables: number
  sizeBytes: number
  /** Compactions into the level. */
  seconds: number
  readBytes: number
  writtenBytes: number
}

const MEBIBYTE = 1024 * 1024

/** Parses LevelDB's property `leveldb.stats`: a table with one line for each non-empty level. */
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
