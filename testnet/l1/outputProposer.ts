import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { type Clock, sleep } from '../../src/lib/clock.ts'
import { DeviumError, describeError } from '../../src/lib/errors.ts'
import { type Hex, quantityToNumber, toHex, toQuantity } from '../../src/lib/hex.ts'
import type { Logger } from '../../src/lib/logger.ts'
import { type BlockId, JsonObjectReader } from '../../src/rollup/protocol/index.ts'
import type { Account } from '../accounts.ts'
import { keepTrying } from './keepTrying.ts'
import { encodeProposal, readNextOutput } from './outputOracle.ts'
import { type L1Block, readL1Block } from './rpc.ts'
import { signTransaction, type TransactionRequest } from './transaction.ts'

export interface ProposerModules {
  l1: RpcClient
  /** The sequencer's rollup node. */
  rollup: RpcClient
  logger: Logger
  clock: Clock
}

export interface ProposerOptions {
  /** Address of L2OutputOracle. */
  oracle: Hex
  proposer: Account
  l1ChainId: number
  pollMs: number
}

interface Output {
  number: number
  outputRoot: Hex
  /** Timestamp of the L2 block. */
  timestamp: number
}

/** Many outputs are due after a pause. This many use at most a third of an L1 block's gas. */
const MAX_AT_ONCE = 100
/**
 * Measured: 110,000 gas for the first output, and 96,000 for a later one. From Amsterdam on it is 271,000, because new storage
 * costs more.
 */
const GAS_LIMIT = 400_000
const TIP_WEI = 1_000_000_000n
/** The contract reads the hashes of the last 256 L1 blocks. */
const MAX_L1_BLOCKS_BEHIND = 100
/** L1 blocks until a proposal that is not included is dropped. */
const MAX_L1_BLOCKS_WAITED = 20
/** The contract's error if BLOCKHASH is not the hash of the L1 block that the proposal names. */
const HASH_MISMATCH = 'block hash does not match the hash at the expected height'

/**
 * Proposes the outputs of safe L2 blocks on L1. Withdrawals are proven against these outputs.
 * Waiting for finalized blocks has no benefit. A safe block changes only in an L1 reorg below the L1 block it was derived from.
 * The contract refuses a proposal on another L1 chain, and a later reorg removes the proposal too.
 */
export class OutputProposer {
  private readonly modules: ProposerModules
  private readonly options: ProposerOptions
  /** L2 block of the last output on L1; undefined if there is none or it has not been read. */
  lastOutput: number | undefined

  constructor(modules: ProposerModules, options: ProposerOptions) {
    this.modules = modules
    this.options = options
  }

  /** Runs until the signal aborts. Never rejects: failures are logged once and retried. */
  run(signal: AbortSignal): Promise<void> {
    const { pollMs: pauseMs } = this.options
    const messages = { failed: 'Could not propose outputs, trying again', again: 'Proposing outputs again' }
    const work = async () => {
      await this.proposeDue(signal)
      await sleep(this.modules.clock, pauseMs, signal)
    }
    return keepTrying(work, messages, { ...this.modules, pauseMs }, signal)
  }

  /** Proposes all due outputs, and resolves when they are on L1. */
  private async proposeDue(signal: AbortSignal): Promise<void> {
    const { l1, rollup, logger } = this.modules
    const [next, head, status] = await Promise.all([
      readNextOutput(l1, this.options.oracle, { signal }),
      readL1Block(l1, 'latest', { signal }),
      rollup
        .request('optimism_syncStatus', [], { signal })
        .then((answer) => new JsonObjectReader(answer, 'sync status')),
    ])
    if (next.number > next.interval) this.lastOutput = next.number - next.interval
    const currentL1 = status.object('current_l1')
    const derivedFrom = { hash: currentL1.hex('hash', 32), number: currentL1.integer('number') }
    // Derivation is starting, ahead of this head or too far behind it: the contract has no hash to check.
    const behind = head.number - derivedFrom.number
    if (derivedFrom.number === 0 || behind < 0 || behind > MAX_L1_BLOCKS_BEHIND) return
    const outputs = await this.readOutputs(next, status.object('safe_l2').integer('number'), signal)
    // The contract requires that the L2 block is not later than the L1 block of the proposal.
    const due = outputs.filter(({ timestamp }) => timestamp <= head.timestamp)
    const [first] = due
    if (first === undefined) return
    if (await this.isUnknownToBlockhash(derivedFrom, first, signal)) {
      logger.debug('Waiting until BLOCKHASH knows the L1 block of derivation', { l1Block: derivedFrom.number })
      return
    }
    const l1Block = await this.send(due, derivedFrom, head, signal)
    const last = due.at(-1) ?? first
    this.lastOutput = last.number
    logger.info('Proposed outputs', { count: due.length, l2Block: last.number, outputRoot: last.outputRoot, l1Block })
  }

  private async readOutputs(
    { number, interval }: { number: number; interval: number },
    safe: number,
    signal: AbortSignal,
  ) {
    const { rollup } = this.modules
    const count = Math.min(MAX_AT_ONCE, Math.floor((safe - number) / interval) + 1)
    const numbers = Array.from({ length: Math.max(0, count) }, (_, index) => number + index * interval)
    return Promise.all(
      numbers.map(async (number): Promise<Output> => {
        const answer = await rollup.request('optimism_outputAtBlock', [toQuantity(number)], { signal })
        const output = new JsonObjectReader(answer, 'output')
        const timestamp = output.object('blockRef').integer('timestamp')
        return { number, outputRoot: output.hex('outputRoot', 32), timestamp }
      }),
    )
  }

  /**
   * Whether L1 has the block but the contract cannot check it. An Anvil that was started again has the right blocks, but its
   * BLOCKHASH is wrong for those before its start.
   */
  private async isUnknownToBlockhash(block: BlockId, output: Output, signal: AbortSignal): Promise<boolean> {
    // BLOCKHASH of the head is known from the next block on.
    const refusal = await this.refusalOf(this.requestOf(output, block), 'pending', signal)
    if (!refusal?.includes(HASH_MISMATCH)) return false
    return (await readL1Block(this.modules.l1, toQuantity(block.number), { signal })).hash === block.hash
  }

  private requestOf(output: Output, derivedFrom: BlockId): TransactionRequest {
    return { to: this.options.oracle, data: encodeProposal(output, derivedFrom), gasLimit: GAS_LIMIT }
  }

  /** Returns the L1 block of the last transaction. */
  private async send(
    outputs: readonly Output[],
    derivedFrom: BlockId,
    head: L1Block,
    signal: AbortSignal,
  ): Promise<number> {
    const { l1 } = this.modules
    const { proposer, l1ChainId } = this.options
    const nonce = quantityToNumber(
      await l1.request('eth_getTransactionCount', [proposer.address, 'latest'], { signal }),
    )
    const requests = outputs.map((output) => this.requestOf(output, derivedFrom))
    const hashes = await Promise.all(
      requests.map((request, index) => {
        const raw = signTransaction(request, {
          chainId: l1ChainId,
          nonce: nonce + index,
          maxFeePerGasWei: 2n * head.baseFeeWei + TIP_WEI,
          maxPriorityFeePerGasWei: TIP_WEI,
          privateKey: proposer.privateKey,
        })
        return l1.request('eth_sendRawTransaction', [raw], { signal })
      }),
    )
    const receipts = await this.receiptsOf(hashes, head.number + MAX_L1_BLOCKS_WAITED, signal)
    const refused = receipts.findIndex((receipt) => receipt.quantityNumber('status') !== 1)
    const request = requests[refused]
    if (request !== undefined) {
      // The receipt has no reason.
      const reason = (await this.refusalOf(request, 'latest', signal)) ?? 'no longer'
      throw new DeviumError(
        'output-refused',
        `L1 refused the output of L2 block ${outputs[refused]?.number}: ${reason}`,
      )
    }
    return receipts.at(-1)?.quantityNumber('blockNumber') ?? head.number
  }

  private async receiptsOf(hashes: readonly unknown[], lastL1Block: number, signal: AbortSignal) {
    const { l1, clock } = this.modules
    for (;;) {
      await sleep(clock, this.options.pollMs, signal)
      const receipts = await Promise.all(
        hashes.map((hash) => l1.request('eth_getTransactionReceipt', [hash], { signal })),
      )
      if (!receipts.includes(null)) return receipts.map((receipt) => new JsonObjectReader(receipt, 'receipt'))
      const { number } = await readL1Block(l1, 'latest', { signal })
      if (number > lastL1Block) throw new DeviumError('output-not-included', 'L1 does not include the proposals')
    }
  }

  /** The contract's error; undefined if it accepts the call. */
  private async refusalOf(
    { to, data }: TransactionRequest,
    tag: 'latest' | 'pending',
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const call = { from: this.options.proposer.address, to, data: toHex(data) }
    return this.modules.l1.request('eth_call', [call, tag], { signal }).then(() => undefined, describeError)
  }
}
