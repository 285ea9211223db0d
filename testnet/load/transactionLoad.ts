import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { type Clock, sleep } from '../../src/lib/clock.ts'
import { type Hex, quantityToNumber } from '../../src/lib/hex.ts'
import { type Account, devAccounts } from '../accounts.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { signTransaction } from '../l1/transaction.ts'

/** The kinds of load: plain calls of an account, or calls with data that fill blocks and batches. */
export const LOADS = {
  transfers: { bytes: 0, gasLimit: 21_000 },
  // At most 40 gas a byte (EIP-7623), and the 21,000 of every transaction.
  data: { bytes: 4_000, gasLimit: 200_000 },
} as const
export type LoadKind = keyof typeof LOADS

export interface LoadModules {
  /** The sequencer's execution client. */
  l2: RpcClient
  clock: Clock
}

const TICK_MS = 200
/** The target of all calls. It has no code. */
const TARGET: Hex = `0x${'10ad'.repeat(10)}`
const FEES = { maxFeePerGasWei: 10_000_000_000n, maxPriorityFeePerGasWei: 1_000_000n }

/** Sends a constant rate of transactions from one account until it is stopped. */
export class TransactionLoad {
  private readonly modules: LoadModules
  /** The last funded account, so that the user alone uses the first ones. */
  private readonly sender: Account
  private readonly chainId: number
  private stopping = new AbortController()
  private running: Promise<void> | undefined
  /** Accepted transactions of the current or last load. */
  accepted = 0
  refused = 0

  constructor(modules: LoadModules, { l2ChainId }: Pick<ChainParameters, 'l2ChainId'>) {
    const sender = devAccounts.at(-1)
    if (sender === undefined) throw new RangeError('a testnet has funded accounts')
    this.modules = modules
    this.sender = sender
    this.chainId = l2ChainId
  }

  get isRunning(): boolean {
    return this.running !== undefined
  }

  /** Replaces the current load. */
  async start(perSecond: number, kind: LoadKind): Promise<void> {
    await this.stop()
    this.stopping = new AbortController()
    this.accepted = 0
    this.refused = 0
    this.running = this.run(perSecond, kind, this.stopping.signal)
  }

  /** Waits for the transactions that are under way: the next load must not use their nonces. */
  async stop(): Promise<void> {
    this.stopping.abort()
    await this.running
    this.running = undefined
  }

  async close(): Promise<void> {
    this.stopping.abort()
    // Ends the calls under way.
    await this.modules.l2.close()
    await this.stop()
  }

  /** Never rejects: it waits while the client does not answer. */
  private async run(perSecond: number, kind: LoadKind, signal: AbortSignal): Promise<void> {
    const { clock } = this.modules
    let nonce: number | undefined
    let due = 0
    while (!signal.aborted) {
      try {
        nonce ??= await this.nextNonce()
        due += (perSecond * TICK_MS) / 1000
        const count = Math.floor(due)
        due -= count
        // A refused transaction leaves a nonce gap. The next read of the account's nonce closes it.
        nonce = (await this.send(nonce, count, kind)) ? nonce + count : undefined
      } catch {
        nonce = undefined
      }
      await sleep(clock, TICK_MS, signal).catch(() => {})
    }
  }

  /** Returns whether the client accepted all. */
  private async send(nonce: number, count: number, kind: LoadKind): Promise<boolean> {
    if (count === 0) return true
    const { bytes, gasLimit } = LOADS[kind]
    const request = { to: TARGET, data: new Uint8Array(bytes).fill(0xda), gasLimit }
    const options = { chainId: this.chainId, privateKey: this.sender.privateKey, ...FEES }
    const calls = Array.from({ length: count }, (_, index) => ({
      method: 'eth_sendRawTransaction',
      params: [signTransaction(request, { ...options, nonce: nonce + index })],
    }))
    const answers = await this.modules.l2.batch(calls)
    const refused = answers.filter((answer) => answer instanceof JsonRpcError).length
    this.refused += refused
    this.accepted += count - refused
    return refused === 0
  }

  private async nextNonce(): Promise<number> {
    const count = await this.modules.l2.request('eth_getTransactionCount', [this.sender.address, 'pending'])
    return quantityToNumber(count)
  }
}
