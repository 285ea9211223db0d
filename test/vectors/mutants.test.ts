import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { sampleOf } from '../../src/lib/testUtils/propertyRuns.ts'
import { parseRollupConfig } from '../../src/rollup/protocol/index.ts'
import { deriveOnEngine } from '../support/derivingNode.ts'
import { loadGenesis, loadRecording, type RecordingName } from '../support/recording.ts'

// What op-node made of batcher data that were damaged on purpose: on the same L1 our verifier must come to rest at the same safe head,
// with blocks that our execution client built.

interface Mutants {
  recording: string
  rollup: unknown
  genesisConfig: unknown
  cases: {
    seed: number
    what: string
    /** Fields of L1 transactions to be replaced. */
    changes: ({ l1Block: number; transaction: number } & Record<string, string | number>)[]
    safeHead: { number: number; hash: string }
  }[]
}

/** Of each chain, in a quick test run. */
const QUICK_CASES = 15

const folder = new URL('../../../shared/vectors/', import.meta.url)

describe.each(['granite', 'holocene'])('damaged batches of the %s chain', (name) => {
  const url = new URL(`mutants-${name}.json.gz`, folder)
  if (!existsSync(url)) {
    it.skip(`lead to op-node's safe head (skipped: ../shared/vectors/mutants-${name}.json.gz is absent)`)
    return
  }
  const mutants: Mutants = JSON.parse(gunzipSync(readFileSync(url)).toString())
  const recorded = mutants.recording.replace(/^op-node-|\.json\.gz$/g, '') as RecordingName
  const config = parseRollupConfig(mutants.rollup)
  const genesis = { ...loadGenesis(recorded), config: mutants.genesisConfig }

  it.each(sampleOf(mutants.cases, QUICK_CASES))('$seed: $what', async ({ changes, safeHead }) => {
    const { l1 } = loadRecording(recorded)
    for (const { l1Block, transaction, ...fields } of changes) {
      const target = l1[l1Block]?.transactions[transaction]
      if (target === undefined) throw new Error(`no transaction ${transaction} in L1 block ${l1Block}`)
      Object.assign(target, fields)
    }
    // Blocks with changed transactions have other hashes.
    const { safe } = await deriveOnEngine({ config, l1 }, genesis, { trustRpc: true })
    expect({ number: safe.number, hash: safe.hash }).toEqual(safeHead)
  })
})
