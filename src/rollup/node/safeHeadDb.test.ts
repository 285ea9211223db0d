import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { ClassicLevel } from 'classic-level'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import type { BlockId, L2BlockRef } from '../protocol/types.ts'
import { SafeHeadDb } from './safeHeadDb.ts'

const folder = mkdtempSync(join(tmpdir(), 'devium-safe-heads-'))
afterAll(() => rmSync(folder, { recursive: true }))

const hash = (kind: number, number: number): Hex =>
  `0x${kind.toString(16).padStart(2, '0')}${number.toString(16).padStart(62, '0')}`
const l1 = (number: number): BlockId => ({ hash: hash(1, number), number })
const l2 = (number: number): BlockId => ({ hash: hash(2, number), number })
/** Two L2 blocks in each L1 block. The origin is two L1 blocks before the block that made it safe. */
const ref = (number: number): L2BlockRef => ({
  ...l2(number),
  parentHash: hash(2, number - 1),
  timestamp: number,
  l1Origin: l1(Math.max(0, Math.floor(number / 2) - 2)),
  sequenceNumber: number % 2,
})

let db: SafeHeadDb
let path: string
let count = 0
beforeEach(async () => {
  path = join(folder, `${count++}`)
  db = await SafeHeadDb.open(path)
})
afterEach(() => db.close())

async function recordFrom(first: number, last: number): Promise<void> {
  for (let number = first; number <= last; number++) db.record(l1(number), l2(2 * number))
  await db.flush()
}

async function reopen(): Promise<void> {
  await db.close()
  db = await SafeHeadDb.open(path)
}

describe('safe-head database', () => {
  it('keeps an entry that is recorded during a write', async () => {
    db.record(l1(10), l2(20))
    const flushed = db.flush()
    db.record(l1(11), l2(22))
    await flushed
    expect(await db.tip()).toEqual(l2(22))
    await db.flush()
    await reopen()
    expect(await db.tip()).toEqual(l2(22))
  })

  it('returns the last entry at or below an L1 block, before and after the write and a restart', async () => {
    expect(await db.at(100)).toBeUndefined()
    await recordFrom(10, 12)
    db.record(l1(15), l2(29))
    db.record(l1(15), l2(30))
    for (const at of [1, 2]) {
      expect(await db.at(9)).toBeUndefined()
      expect(await db.at(10)).toEqual({ l1: l1(10), safe: l2(20) })
      expect(await db.at(14)).toEqual({ l1: l1(12), safe: l2(24) })
      expect(await db.at(15)).toEqual({ l1: l1(15), safe: l2(30) })
      expect(await db.at(2 ** 52)).toEqual({ l1: l1(15), safe: l2(30) })
      expect(await db.tip()).toEqual(l2(30))
      if (at === 1) {
        await db.flush()
        await reopen()
      }
    }
  })

  it('finds the L1 block that made an L2 block safe', async () => {
    await expect(db.madeSafeBy(1)).rejects.toThrow(errorWith('safe-db-not-found'))
    await recordFrom(10, 12)
    db.record(l1(13), l2(26))
    expect(await db.madeSafeBy(26)).toEqual({ l1: l1(13), safe: l2(26) })
    expect(await db.madeSafeBy(23)).toEqual({ l1: l1(12), safe: l2(24) })
    expect(await db.madeSafeBy(20)).toEqual({ l1: l1(10), safe: l2(20) })
    await expect(db.madeSafeBy(19)).rejects.toThrow(errorWith('safe-db-unavailable'))
    await expect(db.madeSafeBy(27)).rejects.toThrow(errorWith('safe-db-not-found'))
    expect(await db.firstReaching(21)).toEqual(l2(22))
    expect(await db.firstReaching(19)).toBeUndefined()
    expect(await db.firstReaching(27)).toBeUndefined()
  })

  it('finds each of many, with gaps between the L1 blocks', async () => {
    for (let number = 1; number <= 40; number++) {
      db.record(l1(10 + number * 3 + (number % 2)), l2(number * 5))
      if (number === 30) await db.flush()
    }
    for (let l2Number = 6; l2Number <= 200; l2Number++) {
      const number = Math.ceil(l2Number / 5)
      expect(await db.madeSafeBy(l2Number)).toEqual({ l1: l1(10 + number * 3 + (number % 2)), safe: l2(number * 5) })
    }
  })

  it('drops entries from the reset head on, and inserts the reset head', async () => {
    await recordFrom(10, 16)
    await db.truncate(ref(25))
    expect(await db.at(100)).toEqual({ l1: l1(13), safe: l2(25) })
    expect(await db.at(12)).toEqual({ l1: l1(12), safe: l2(24) })
    await reopen()
    expect(await db.tip()).toEqual(l2(25))
  })

  it('drops all entries if the reset head is below them', async () => {
    await recordFrom(10, 16)
    await db.truncate(ref(15))
    expect(await db.at(100)).toBeUndefined()
  })

  it('keeps all entries if the reset head is above them, including unwritten ones', async () => {
    await recordFrom(10, 12)
    await db.truncate(ref(40))
    expect(await db.tip()).toEqual(l2(24))
    db.record(l1(13), l2(26))
    await db.truncate(ref(25))
    expect(await db.at(100)).toEqual({ l1: l1(13), safe: l2(25) })
  })

  it('is empty after clear', async () => {
    await recordFrom(10, 12)
    db.record(l1(13), l2(26))
    await db.clear()
    expect(await db.tip()).toBeUndefined()
    await reopen()
    expect(await db.tip()).toBeUndefined()
  })

  it('reports that it is closed, and that another process has it open', async () => {
    await expect(SafeHeadDb.open(path)).rejects.toThrow(errorWith('usage', path, 'another process'))
    await db.close()
    await expect(db.at(1)).rejects.toThrow(errorWith('safe-db-closed'))
  })

  it('names the path if it is damaged: at the start if it is the last entry, otherwise when it is read', async () => {
    await recordFrom(10, 12)
    await db.close()
    await putRaw(l1(11).number, Uint8Array.of(1))
    db = await SafeHeadDb.open(path)
    expect(await db.tip()).toEqual(l2(24))
    const reads = [() => db.at(11), () => db.truncate(ref(20)), () => db.firstReaching(22), () => db.clear()]
    for (const read of reads) await expect(read()).rejects.toThrow(errorWith('safe-db-damaged', path))
    await db.close()
    await putRaw(l1(12).number, Uint8Array.of(1))
    await expect(SafeHeadDb.open(path)).rejects.toThrow(errorWith('usage', path))
  })

  it('names the path if a table cannot be read at the start', async () => {
    await recordFrom(10, 12)
    // The next start writes the log's content into a table.
    await reopen()
    await db.close()
    const tables = readdirSync(path).filter((name) => name.endsWith('.ldb'))
    expect(tables).not.toHaveLength(0)
    for (const name of tables) truncateSync(join(path, name), 100)
    await expect(SafeHeadDb.open(path)).rejects.toThrow(errorWith('usage', path))
  })

  it('writes again after a failed write, and a restart finds it', async () => {
    await db.close()
    // The log file reaches the limit, as on a full disk. Opened again, the database begins another.
    const limits = 'ulimit -f 64; exec "$@"'
    const child = spawn('sh', ['-c', limits, 'sh', process.execPath, ...writer(path, 2_000)], { stdio: PIPED })
    const output = await textOf(child.stdout)
    expect(output).toContain('failed safe-db-write reset')
    db = await SafeHeadDb.open(path)
    for (let number = 1; number <= 2_000; number++) {
      expect(await db.at(number)).toEqual({ l1: l1(number), safe: l2(2 * number) })
    }
  })

  it('keeps all flushed entries after a kill of the process', async () => {
    await db.close()
    for (let round = 0; round < 3; round++) {
      const child = spawn(process.execPath, writer(path, Number.POSITIVE_INFINITY), { stdio: PIPED })
      let reported = 0
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        reported = Number(text.trimEnd().split('\n').at(-1))
        if (reported > 20 + round * 7) child.kill('SIGKILL')
      })
      await once(child, 'close')
      db = await SafeHeadDb.open(path)
      const tip = await db.tip()
      expect(tip?.number).toBeGreaterThanOrEqual(2 * reported)
      for (let number = 1; number <= reported; number++) {
        expect(await db.at(number)).toEqual({ l1: l1(number), safe: l2(2 * number) })
      }
      await db.close()
    }
  })
})

async function putRaw(l1Number: number, value: Uint8Array): Promise<void> {
  const level = new ClassicLevel<Uint8Array, Uint8Array>(path, { keyEncoding: 'view', valueEncoding: 'view' })
  const key = Buffer.alloc(9)
  key.writeBigUInt64BE(BigInt(l1Number), 1)
  await level.put(key, value)
  await level.close()
}

const PIPED: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit']

/** Node's arguments for a process that writes entries up to `last`, one by one, and prints each. */
function writer(path: string, last: number): string[] {
  const script = `
    import { SafeHeadDb } from ${JSON.stringify(new URL('./safeHeadDb.ts', import.meta.url).href)}
    const db = await SafeHeadDb.open(process.argv[1])
    const id = (kind, number) => ({ hash: '0x0' + kind + number.toString(16).padStart(62, '0'), number })
    for (let number = 1; number <= ${last}; number++) {
      db.record(id(1, number), id(2, 2 * number))
      await db.flush().catch(({ code, severity }) => {
        process.stdout.write('failed ' + code + ' ' + severity + '\\n')
        return db.flush()
      })
      process.stdout.write(number + '\\n')
    }`
  return ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script, path]
}
