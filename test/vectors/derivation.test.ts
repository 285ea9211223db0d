import { describe, expect, it } from 'vitest'
import { createL1Client } from '../../src/l1/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { type BlobSource, createDerivationPipeline, type DerivedAttributes } from '../../src/rollup/derive/index.ts'
import { decodeEip1559Params, encodeExtraData, payloadToL2BlockRef } from '../../src/rollup/protocol/index.ts'
import type { L1BlockRef, L2BlockRef, PayloadEnvelope } from '../../src/rollup/protocol/types.ts'
import { loadRecording, type Recording, recordedL1Rpc, recordedL2Source } from '../support/recording.ts'

/** The parameters of the Canyon base fee rule, which eip1559Params of zero stand for; extraData then shows these. */
const CANYON_EIP1559 = { denominator: 250, elasticity: 6 }

/** Steps the pipeline to the end of the recorded L1, building each block as it was recorded. */
async function derive(recording: Recording, { from = 0, head = recording.l1.length - 1 } = {}) {
  const { config, l2 } = recording
  let safe = refAt(recording, from)
  const derived: DerivedAttributes[] = []
  const safeAt: { l1: L1BlockRef; safe: L2BlockRef }[] = []
  // Anvil's transactions root covers the blobs along with their transaction, so it is no transactions root of Ethereum.
  const trustRpc = recording.l1.some(({ blobs }) => blobs !== undefined)
  const rpc = recordedL1Rpc(recording, () => head)
  const pipeline = createDerivationPipeline(
    {
      l1: createL1Client({ rpc, logger: silentLogger, clock: systemClock }, { trustRpc }),
      l2: recordedL2Source(recording, () => safe.number),
      blobs: recordedBlobs(recording),
      logger: silentLogger,
    },
    config,
  )
  await pipeline.reset(safe)
  for (;;) {
    const result = await pipeline.step(safe)
    if (result.kind === 'idle') return { derived, safeAt, safe, pipeline }
    if (result.kind !== 'attributes') continue
    derived.push(result.derived)
    if (l2[safe.number + 1] === undefined) throw new Error(`derived a block after the recorded ${safe.number}`)
    safe = refAt(recording, safe.number + 1)
    safeAt.push({ l1: result.derived.derivedFrom, safe })
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
function shapeOfBlock({ payload, parentBeaconBlockRoot }: PayloadEnvelope, holocene: boolean) {
  return {
    timestamp: payload.timestamp,
    prevRandao: payload.prevRandao,
    feeRecipient: payload.feeRecipient,
    parentBeaconBlockRoot,
    gasLimit: payload.gasLimit,
    withdrawals: payload.withdrawals,
    extraData: holocene ? payload.extraData : undefined,
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
    extraData: attributes.eip1559Params === undefined ? undefined : extraDataOf(attributes.eip1559Params),
    transactions: attributes.transactions.map(toHex),
    parentHash: parent.hash,
    noTxPool: attributes.noTxPool,
  }
}

function extraDataOf(params: Hex): Hex {
  const given = decodeEip1559Params(params)
  return encodeExtraData(given.denominator === 0 ? CANYON_EIP1559 : given)
}

describe.each([
  // op-node itself came to these safe heads on the same data.
  { name: 'granite-singular-zlib-calldata', safe: 21 },
  { name: 'holocene-span-brotli-calldata', safe: 21 },
  { name: 'granite-span-zlib-blobs', safe: undefined },
] as const)('deriving the chain recorded in $name', ({ name, safe: expectedSafe }) => {
  const recording = loadRecording(name)
  const holocene = recording.config.forks.holocene !== undefined

  it('gives every recorded block as far as the batches reach', async () => {
    const { derived, safe } = await derive(recording)
    if (expectedSafe !== undefined) expect(safe.number).toBe(expectedSafe)
    expect(derived.length).toBeGreaterThan(10)
    for (const [index, attributes] of derived.entries()) {
      const block = recording.l2[index + 1]
      expect(block && shapeOfBlock(block, holocene)).toEqual(shapeOfAttributes(attributes))
    }
  })

  // The node that recorded the chain with blobs could not read them, so its safe head stood still.
  it.runIf(expectedSafe !== undefined)('moves the safe head at the L1 blocks where op-node did', async () => {
    const { safeAt } = await derive(recording)
    const genesis = { l1: recording.config.genesis.l1, safe: recording.config.genesis.l2 }
    const mine = recording.safeHeadAtL1.map((_, number) => {
      const entry = safeAt.findLast(({ l1 }) => l1.number <= number) ?? genesis
      const { l1, safe } = entry
      return {
        l1Block: { number: l1.number, hash: l1.hash },
        safeHead: { number: safe.number, hash: safe.hash },
      }
    })
    expect(mine).toEqual(recording.safeHeadAtL1)
  })

  it('comes to the same blocks from any safe head on the way', async () => {
    const whole = await derive(recording)
    for (let from = 1; from <= whole.safe.number; from++) {
      const part = await derive(recording, { from })
      expect(part.derived).toEqual(whole.derived.slice(from))
    }
  })

  it('derives nothing that the L1 head does not show yet', async () => {
    const whole = await derive(recording)
    for (let head = 0; head < recording.l1.length; head += 3) {
      const { derived, pipeline } = await derive(recording, { head })
      expect(pipeline.origin.number).toBe(head)
      expect(derived).toEqual(whole.derived.filter(({ derivedFrom }) => derivedFrom.number <= head))
    }
  })
})
