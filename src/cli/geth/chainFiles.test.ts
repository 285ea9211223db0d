import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadRecording } from '../../../test/support/recording.ts'
import { type Chain, encodeBlock, initChain, openChain, readGenesisFile } from '../../execution/index.ts'
import type { Block } from '../../execution/primitives/block.ts'
import { loadRecordedRpc } from '../../execution/testUtils/recordedRpc.ts'
import { systemClock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { ProgressState } from '../../lib/progress.ts'
import { decodeRlp, encodeRlp, rlpList } from '../../lib/rlp.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import { exportChain, importChain } from './chainFiles.ts'

const NAME = 'holocene-span-brotli-calldata'
const BLOCKS = loadRecording(NAME).l2.slice(1)
const directory = mkdtempSync(join(tmpdir(), 'devium-files-'))
const file = (name: string) => join(directory, name)
const { signal } = new AbortController()
const logger = silentLogger
const { genesis } = loadRecordedRpc(NAME)

const chains: Chain[] = []
async function emptyChain(name: string): Promise<Chain> {
  await initChain(file(name), genesis)
  const chain = await openChain(file(name), { logger, clock: systemClock })
  chains.push(chain)
  return chain
}

async function headOf(chain: Chain): Promise<Block> {
  const block = await chain.blockByHash(chain.head().hash)
  if (block === undefined) throw new Error('the head is not there')
  return block
}

let full: Chain
beforeAll(async () => {
  full = await emptyChain('full')
  for (const envelope of BLOCKS) {
    await full.importPayload(envelope)
    const { blockHash } = envelope.payload
    await full.setForkchoice({ headBlockHash: blockHash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH })
  }
  await exportChain({ chain: full, logger, signal }, file('all.rlp'), [])
})

afterAll(async () => {
  for (const chain of chains) await chain.close()
  rmSync(directory, { recursive: true, force: true })
})

describe('a chain in files', () => {
  it('is the same after export and import, compressed or not', async () => {
    await exportChain({ chain: full, logger, signal }, file('back.rlp'), [])
    await exportChain({ chain: full, logger, signal }, file('back.rlp.gz'), [])
    expect(gunzipSync(readFileSync(file('back.rlp.gz'))).equals(readFileSync(file('back.rlp')))).toBe(true)
    for (const name of ['back.rlp', 'back.rlp.gz']) {
      const chain = await emptyChain(`from-${name}`)
      await importChain({ chain, logger, signal }, [file(name)])
      expect(chain.head().hash).toBe(full.head().hash)
      // The import skips blocks that exist already.
      await importChain({ chain, logger, signal }, [file(name)])
    }
  })

  it('reports progress of export and import', async () => {
    // Each read of this clock advances it by a second.
    let nowMs = 0
    const clock = { now: () => (nowMs += 1_000) }
    const states: ProgressState[] = []
    let ended = 0
    const sink = { intervalMs: 0, show: (state: ProgressState) => states.push(state), end: () => ended++ }
    await exportChain({ chain: full, logger, signal, sink, clock }, file('told.rlp'), [])
    expect(states.at(-1)).toMatchObject({ what: 'Exporting blocks', done: 33, total: 33, fraction: 1, secondsLeft: 0 })
    await exportChain({ chain: full, logger, signal }, file('told.rlp.gz'), [])
    for (const name of ['told.rlp', 'told.rlp.gz']) {
      states.length = 0
      const chain = await emptyChain(`from-${name}`)
      await importChain({ chain, logger, signal, sink, clock }, [file(name)])
      expect(states.at(-1)).toMatchObject({ what: 'Importing blocks', done: 32, fields: { number: 32 } })
      // All blocks except the genesis block, which is not imported.
      expect(states.at(-1)?.fraction).toBeGreaterThan(0.9)
      expect(states.every(({ fraction = 2 }) => fraction <= 1)).toBe(true)
      // A file this small is decompressed at once, so its fraction is near 1 from the beginning.
      if (name.endsWith('.gz')) continue
      expect(states[10]?.fraction).toBeLessThan(0.6)
      expect(states[10]?.secondsLeft).toBeGreaterThan(5)
    }
    expect(ended).toBe(3)
  })

  it('can be exported in ranges, which append to the file', async () => {
    await exportChain({ chain: full, logger, signal }, file('parts.rlp'), ['1', '7'])
    await exportChain({ chain: full, logger, signal }, file('parts.rlp'), ['8', '20'])
    const chain = await emptyChain('parts')
    await importChain({ chain, logger, signal }, [file('parts.rlp')])
    expect(chain.head().number).toBe(20)
    for (const [range, named] of [
      [
        ['5', '4'],
        [5, 4],
      ],
      [
        ['1', '999'],
        [999, 32],
      ],
      [['1'], ['"1"']],
      [['a', 'b'], ['"a b"']],
    ] as const) {
      await expect(exportChain({ chain: full, logger, signal }, file('no.rlp'), range)).rejects.toThrow(
        errorWith('usage', ...named),
      )
    }
  })

  it('reports the reason for a refusal, and still imports the other files', async () => {
    const bytes = readFileSync(file('all.rlp'))
    const chain = await emptyChain('faulty')
    const importing = (...names: string[]) => importChain({ chain, logger, signal }, names.map(file))
    writeFileSync(file('short.rlp'), bytes.subarray(0, bytes.length - 5))
    await expect(importing('short.rlp')).rejects.toThrow(errorWith('usage', file('short.rlp')))
    // Blocks before the fault are kept.
    expect(chain.head().number).toBe(BLOCKS.length - 1)
    const [header, transactions, uncles] = rlpList(decodeRlp(encodeBlock(await headOf(full))), 'block')
    writeFileSync(file('bare.rlp'), encodeRlp([header ?? [], transactions ?? [], uncles ?? []]))
    await expect(importing('bare.rlp')).rejects.toThrow(errorWith('usage', file('bare.rlp'), 'withdrawals'))
    writeFileSync(file('text.rlp'), 'no blocks at all')
    await expect(importing('text.rlp')).rejects.toThrow(errorWith('usage', file('text.rlp'), 'byte 0'))
    await expect(importing('nowhere.rlp')).rejects.toThrow(errorWith('usage', file('nowhere.rlp'), 'ENOENT'))
    await expect(importing()).rejects.toThrow(errorWith('usage'))
    await expect(importing('text.rlp', 'nowhere.rlp', 'all.rlp')).rejects.toThrow(errorWith('usage', '2 of 3'))
    expect(chain.head().hash).toBe(full.head().hash)

    await exportChain({ chain: full, logger, signal }, file('late.rlp'), ['5', '6'])
    const other = await emptyChain('other')
    await expect(importChain({ chain: other, logger, signal }, [file('late.rlp')])).rejects.toThrow(
      errorWith('usage', file('late.rlp'), 'block 5'),
    )
  })

  it('can be initialised again from its genesis file', async () => {
    const made = file('genesis')
    await initChain(made, genesis)
    expect(JSON.parse(await readGenesisFile(made))).toEqual(genesis)
    const error: unknown = await readGenesisFile(file('nothing')).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(UsageError)
    expect(String(error)).toMatch(/nothing holds no genesis file: run "devium-geth init/)
  })
})
