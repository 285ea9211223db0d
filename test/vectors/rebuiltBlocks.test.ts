import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BuildRequest, TxCursor, TxSource } from '../../src/execution/chain/building.ts'
import type { ExecutionWitness } from '../../src/execution/chain/executionWitness.ts'
import type { Chain } from '../../src/execution/chain/opChain.ts'
import { executeStateless } from '../../src/execution/chain/statelessBlock.ts'
import { initChain, openChain } from '../../src/execution/index.ts'
import type { SignedTransaction } from '../../src/execution/primitives/block.ts'
import { loadRecordedRpc } from '../../src/execution/testUtils/recordedRpc.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { keccak256Hex } from '../../src/lib/hash.ts'
import { type Hex, toHex } from '../../src/lib/hex.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { decodeSignedTransaction, isDepositTx, isForkActive } from '../../src/rollup/protocol/index.ts'
import type { PayloadAttributes, PayloadEnvelope } from '../../src/rollup/protocol/types.ts'
import { loadRecording, type RecordingName } from '../support/recording.ts'

// Blocks that op-geth built, built again from what its sequencer and its verifiers were given: derived attributes with
// all transactions forced, and deposits alone with the others coming from a pool.

const NAMES: RecordingName[] = [
  'granite-singular-zlib-calldata',
  'granite-span-zlib-blobs',
  'holocene-span-brotli-calldata',
  '2026-holocene-isthmus-jovian-calldata',
  '2026-holocene-to-karst-blobs',
]

/** A pool that offers these transactions, in this order. */
class ListedPool implements TxSource {
  private readonly transactions: readonly SignedTransaction[]

  constructor(transactions: readonly SignedTransaction[]) {
    this.transactions = transactions
  }

  best(): TxCursor {
    let rest = this.transactions
    return {
      peek: () => rest[0],
      next: () => {
        rest = rest.slice(1)
      },
      skipSender: () => {
        rest = rest.filter(({ from }) => from !== rest[0]?.from)
      },
    }
  }

  added(signal: AbortSignal): Promise<void> {
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }
}

describe.each(NAMES)('%s', (name) => {
  const { config, l2 } = loadRecording(name)
  let datadir: string
  let chain: Chain

  beforeAll(async () => {
    datadir = await mkdtemp(join(tmpdir(), 'devium-rebuild-'))
    await initChain(datadir, loadRecordedRpc(name).genesis)
    // Time stands still: what a busy machine has no time to take from the pool is not missing from a block.
    chain = await openChain(datadir, { logger: silentLogger, clock: new ManualClock() })
    for (const envelope of l2.slice(1)) expect((await chain.importPayload(envelope)).status).toBe('VALID')
  })

  afterAll(async () => {
    await chain.close()
    await rm(datadir, { recursive: true, force: true })
  })

  function attributesOf({ payload, parentBeaconBlockRoot }: PayloadEnvelope): PayloadAttributes {
    const attributes: PayloadAttributes = {
      timestamp: payload.timestamp,
      prevRandao: payload.prevRandao,
      suggestedFeeRecipient: payload.feeRecipient,
      withdrawals: [],
      transactions: payload.transactions,
      noTxPool: true,
      gasLimit: payload.gasLimit,
    }
    if (parentBeaconBlockRoot !== undefined) attributes.parentBeaconBlockRoot = parentBeaconBlockRoot
    if (isForkActive(config, 'holocene', payload.timestamp)) attributes.eip1559Params = '0x0000000000000000'
    if (isForkActive(config, 'jovian', payload.timestamp)) attributes.minBaseFee = 0n
    return attributes
  }

  const derived = (envelope: PayloadEnvelope): BuildRequest => ({
    parentHash: envelope.payload.parentHash,
    attributes: attributesOf(envelope),
  })

  it('every block built from derived attributes has the recorded hash', async () => {
    for (const envelope of l2.slice(1)) {
      const { envelope: built } = await (await chain.startBuild(derived(envelope))).seal()
      expect(built).toEqual(envelope)
    }
  })

  it('every block built from the pool has the recorded hash', async () => {
    for (const envelope of l2.slice(1)) {
      const { transactions } = envelope.payload
      const deposits = transactions.filter(isDepositTx)
      const txSource = new ListedPool(transactions.slice(deposits.length).map((raw) => decodeSignedTransaction(raw)))
      const attributes = { ...attributesOf(envelope), transactions: deposits, noTxPool: false }
      const job = await chain.startBuild({ ...derived(envelope), attributes, txSource })
      // Asked for at once: what the pool had when building began is in the block all the same.
      expect((await job.seal()).envelope).toEqual(envelope)
    }
  })

  it('every block has the recorded hash if it is executed on its witness alone', async () => {
    for (const envelope of l2.slice(1)) {
      const { parentHash, blockHash } = envelope.payload
      const [parent, block] = [await chain.headerByHash(parentHash), await chain.blockByHash(blockHash)]
      if (parent === undefined || block === undefined) throw new Error(`block ${blockHash} is missing`)
      const attributes = attributesOf(envelope)
      const witness = await chain.witnessOfAttributes(attributes, parentHash)
      const sorted = ({ state, codes, keys, headers }: ExecutionWitness) =>
        [state, codes, keys, headers].map((part) => part.map(toHex).sort())
      expect(sorted(await chain.witnessOfBlock(block))).toEqual(sorted(witness))
      const preimages = new Map(
        [...witness.state, ...witness.codes, ...witness.headers].map((bytes) => [keccak256Hex(bytes), bytes]),
      )
      const stateless = { config: chain.config, parent, attributes, expectedHash: blockHash, preimages }
      expect((await executeStateless(stateless)).block.header.hash).toBe(blockHash)
    }
  })

  it('the value of each block equals the gain of its fee recipient', async () => {
    let total = 0n
    for (const envelope of l2.slice(1)) {
      const { parentHash, blockHash, feeRecipient } = envelope.payload
      const { blockValue } = await (await chain.startBuild(derived(envelope))).seal()
      const balance = async (hash: Hex) => (await (await chain.stateAt(hash))?.account(feeRecipient))?.balance ?? 0n
      expect(blockValue).toBe((await balance(blockHash)) - (await balance(parentHash)))
      total += blockValue
    }
    expect(total).toBeGreaterThan(0n)
  })
})
