import { describe, expect, it } from 'vitest'
import { createL1Client } from '../../src/l1/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { sampleOf } from '../../src/lib/testUtils/propertyRuns.ts'
import { type BlobSource, createDerivationPipeline, type DerivedAttributes } from '../../src/rollup/derive/index.ts'
import {
  decodeEip1559Params,
  encodeExtraData,
  isForkActive,
  payloadToL2BlockRef,
} from '../../src/rollup/protocol/index.ts'
import type { L2BlockRef, PayloadEnvelope, RollupConfig } from '../../src/rollup/protocol/types.ts'
import { deriveOnEngine } from '../support/derivingNode.ts'
import {
  loadGenesis,
  loadRecording,
  type Recording,
  type RecordingName,
  recordedL1Rpc,
  recordedL2Source,
} from '../support/recording.ts'

/** The parameters of the Canyon base fee rule, which eip1559Params of zero stand for; extraData then shows these. */
const CANYON_EIP1559 = { denominator: 250, elasticity: 6 }

/** Steps the pipeline to the end of the recorded L1, building each block as it was recorded. */
async function derive(recording: Recording, { from = 0, head = recording.l1.length - 1 } = {}) {
  const { config, l2 } = recording
  let safe = refAt(recording, from)
  const derived: DerivedAttributes[] = []
  const rpc = recordedL1Rpc(recording, () => head)
  const pipeline = createDerivationPipeline(
    {
      l1: createL1Client({ rpc, logger: silentLogger, clock: systemClock }),
      l2: recordedL2Source(recording, () => safe.number),
      blobs: recordedBlobs(recording),
      logger: silentLogger,
    },
    config,
  )
  await pipeline.reset(safe)
  for (;;) {
    const result = await pipeline.step(safe)
    if (result.kind === 'idle') return { derived, safe, pipeline }
    if (result.kind !== 'attributes') continue
    derived.push(result.derived)
    if (l2[safe.number + 1] === undefined) throw new Error(`derived a block after the recorded ${safe.number}`)
    safe = refAt(recording, safe.number + 1)
  }
}

function refAt({ config, l2 }: Recording, number: number): L2BlockRef {
  const envelope = l2[number]
  if (envelope === undefined) throw new Error(`the recording has no L2 block ${number}`)
  return payloadToL2BlockRef(envelope.payload, config)
}

function recordedBlobs(recording: Recording): BlobSource {
  return {
    async blobs(block, versionedHashes) {
      const recorded = recording.l1[block.number]
      const inOrder = recorded?.transactions.flatMap(({ blobVersionedHashes }) => blobVersionedHashes ?? []) ?? []
      return versionedHashes.map((hash) => fromHex(recorded?.blobs?.[inOrder.indexOf(hash)] ?? '0x'))
    },
  }
}

/** The attributes that a recorded block was made from, in the form in which they are compared. */
function shapeOfBlock({ payload, parentBeaconBlockRoot }: PayloadEnvelope, config: RollupConfig) {
  return {
    timestamp: payload.timestamp,
    prevRandao: payload.prevRandao,
    feeRecipient: payload.feeRecipient,
    parentBeaconBlockRoot,
    gasLimit: payload.gasLimit,
    withdrawals: payload.withdrawals,
    extraData: isForkActive(config, 'holocene', payload.timestamp) ? payload.extraData : undefined,
    transactions: payload.transactions.map(toHex),
    parentHash: payload.parentHash,
    noTxPool: true,
  }
}

function shapeOfAttributes({ attributes, parent }: DerivedAttributes) {
  return {
    timestamp: attributes.timestamp,
    prevRandao: attributes.prevRandao,
    feeRecipient: attributes.suggestedFeeRecipient,
    parentBeaconBlockRoot: attributes.parentBeaconBlockRoot,
    gasLimit: attributes.gasLimit,
    withdrawals: attributes.withdrawals,
    extraData: extraDataOf(attributes),
    transactions: attributes.transactions.map(toHex),
    parentHash: parent.hash,
    noTxPool: attributes.noTxPool,
  }
}

function extraDataOf({ eip1559Params, minBaseFee }: DerivedAttributes['attributes']): Hex | undefined {
  if (eip1559Params === undefined) return undefined
  const given = decodeEip1559Params(eip1559Params)
  const params = given.denominator === 0 ? CANYON_EIP1559 : given
  return encodeExtraData(minBaseFee === undefined ? params : { ...params, minBaseFee })
}

// What the recordings do not allow:
// - The transactions root of L1 blocks with blobs as Ethereum has it: Anvil's covers the blobs along with their transaction, and is checked
//   in that form. Each header hash and receipts root is checked by the L1 client on the way, too.
// - `safeHeadAtL1` of granite-span-zlib-blobs: the node that recorded it could not read blobs, and stood still. How far its batches reach is
//   no figure of op-node's, but each block is.
const RECORDINGS: { name: RecordingName; isSafeHeadRecorded: boolean }[] = [
  { name: 'granite-singular-zlib-calldata', isSafeHeadRecorded: true },
  { name: 'holocene-span-brotli-calldata', isSafeHeadRecorded: true },
  { name: 'granite-span-zlib-blobs', isSafeHeadRecorded: false },
  { name: '2026-holocene-isthmus-jovian-calldata', isSafeHeadRecorded: true },
  { name: '2026-holocene-to-karst-blobs', isSafeHeadRecorded: true },
  { name: '2026-glamsterdam-l1', isSafeHeadRecorded: true },
]

/** About so many numbers from `first` to `last`, evenly spaced. */
function spread(first: number, last: number, count: number): number[] {
  const step = Math.ceil((last - first + 1) / count)
  return Array.from({ length: Math.ceil((last - first + 1) / step) }, (_, index) => first + index * step)
}

describe.each(RECORDINGS)('deriving the chain recorded in $name', ({ name, isSafeHeadRecorded }) => {
  const recording = loadRecording(name)
  const { config, l1, l2, safeHeadAtL1 } = recording

  it('returns the recorded attributes of every block up to the last batch', async () => {
    const { derived, safe } = await derive(recording)
    if (isSafeHeadRecorded) expect(safe.number).toBe(safeHeadAtL1.at(-1)?.safeHead.number)
    expect(derived.length).toBeGreaterThan(10)
    for (const [index, attributes] of derived.entries()) {
      const block = l2[index + 1]
      expect(block && shapeOfBlock(block, config)).toEqual(shapeOfAttributes(attributes))
    }
  })

  // The whole path: L1 client, pipeline, engine controller, Engine API over HTTP and execution. A block's hash covers its roots of state,
  // transactions and receipts.
  it("returns op-node's block hashes after the same L1 blocks", async () => {
    const { blocks, safe } = await deriveOnEngine(recording, loadGenesis(name), { blobs: recordedBlobs(recording) })
    expect(safe.number).toBeGreaterThan(10)
    expect(blocks.map(({ block }) => block.hash)).toEqual(l2.slice(1, safe.number + 1).map((b) => b.payload.blockHash))
    if (!isSafeHeadRecorded) return
    // The entry for an L1 block names the last one up to it at which the safe head moved.
    const genesis = { block: config.genesis.l2, derivedFrom: 0 }
    const mine = l1.map((_, l1Number) => {
      const { block, derivedFrom } = blocks.findLast((entry) => entry.derivedFrom <= l1Number) ?? genesis
      const l1Block = { number: derivedFrom, hash: l1[derivedFrom]?.hash }
      return { l1Block, safeHead: { number: block.number, hash: block.hash } }
    })
    expect(mine).toEqual(safeHeadAtL1)
  })

  it('derives the same blocks from any earlier safe head', async () => {
    const whole = await derive(recording)
    for (const from of sampleOf(spread(1, whole.safe.number, 25), 6)) {
      const part = await derive(recording, { from })
      expect(part.derived).toEqual(whole.derived.slice(from))
    }
  })

  it('derives nothing beyond the L1 head', async () => {
    const whole = await derive(recording)
    for (const head of sampleOf(spread(0, l1.length - 1, 12), 4)) {
      const { derived, pipeline } = await derive(recording, { head })
      expect(pipeline.origin.number).toBe(head)
      expect(derived).toEqual(whole.derived.filter(({ derivedFrom }) => derivedFrom.number <= head))
    }
  })
})
