import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { type Clock, sleep } from '../../src/lib/clock.ts'
import { type Hex, quantityToNumber } from '../../src/lib/hex.ts'
import { type Account, devAccounts } from '../accounts.ts'
import type { ChainParameters } from '../chainParameters.ts'
import { signTransaction } from '../l1/transaction.ts'

/** What the transactions of a load are: nothing but a call of an account, or with data that fill blocks and batches. */
export const LOADS = {
  transfers: { bytes: 0, gasLimit: 21_000 },
  // 40 gas a byte at most (EIP-7623), and the 21,000 of every transaction.
  data: { bytes: 4_000, gasLimit: 200_000 },
} as const
export type LoadKind = keyof typeof LOADS

export interface LoadModules {
  /** The execution client whose node makes the blocks. */
  l2: RpcClient
  clock: Clock
}

const TICK_MS = 200
/** Nobody calls it. */
const TARGET: Hex = `0x${'10ad'.repeat(10)}`
const FEES = { maxFeePerGasWei: 10_000_000_000n, maxPriorityFeePerGasWei: 1_000_000n }

/** Sends so many transactions a second from one account, until it is stopped. */
export class TransactionLoad {
  private readonly modules: LoadModules
  private readonly sender: Account
  private readonly chainId: number
  private stopping = new AbortController()
  private running: Promise<void> | undefined
  /** Of the load that runs, or ran last. */
  accepted = 0
  refused = 0

  constructor(modules: LoadModules, { sender, chainId }: { sender: Account; chainId: number }) {
    this.modules = modules
    this.sender = sender
    this.chainId = chainId
  }

  get isRunning(): boolean {
    return this.running !== undefined
  }

  /** In place of the load that runs. */
  async start(perSecond: number, kind: LoadKind): Promise<void> {
    await this.stop()
    this.stopping = new AbortController()
    this.accepted = 0
    this.refused = 0
    this.running = this.run(perSecond, kind, this.stopping.signal)
  }

  async stop(): Promise<void> {
    this.stopping.abort()
    await this.running
    this.running = undefined
  }

  async close(): Promise<void> {
    await this.stop()
    await this.modules.l2.close()
  }

  /** Never rejects: while nobody answers it waits. */
  private async run(perSecond: number, kind: LoadKind, signal: AbortSignal): Promise<void> {
    const { clock } = this.modules
    let nonce: number | undefined
    let due = 0
    while (!signal.aborted) {
      try {
        nonce ??= await this.nextNonce(signal)
        due += (perSecond * TICK_MS) / 1000
        const count = Math.floor(due)
        due -= count
        // One that is refused leaves a gap, which the next look at the account closes.
        nonce = (await this.send(nonce, count, kind, signal)) ? nonce + count : undefined
      } catch {
        nonce = undefined
      }
      await sleep(clock, TICK_MS, signal).catch(() => {})
    }
  }

  /** Returns whether all were accepted. */
  private async send(nonce: number, count: number, kind: LoadKind, signal: AbortSignal): Promise<boolean> {
    if (count === 0) return true
    const { bytes, gasLimit } = LOADS[kind]
    const request = { to: TARGET, data: new Uint8Array(bytes).fill(0xda), gasLimit }
    const options = { chainId: this.chainId, privateKey: this.sender.privateKey, ...FEES }
    const calls = Array.from({ length: count }, (_, index) => ({
      method: 'eth_sendRawTransaction',
      params: [signTransaction(request, { ...options, nonce: nonce + index })],
    }))
    const answers = await this.modules.l2.batch(calls, { signal })
    const refused = answers.filter((answer) => answer instanceof JsonRpcError).length
    this.refused += refused
    this.accepted += count - refused
    return refused === 0
  }

  private async nextNonce(signal: AbortSignal): Promise<number> {
    const count = await this.modules.l2.request('eth_getTransactionCount', [this.sender.address, 'pending'], { signal })
    return quantityToNumber(count)
  }
}

/** From the last of the funded accounts, so that the first ones are the user's alone. */
export function createLoad(
  modules: LoadModules,
  { l2ChainId: chainId }: Pick<ChainParameters, 'l2ChainId'>,
): TransactionLoad {
  const sender = devAccounts.at(-1)
  if (sender === undefined) throw new RangeError('a testnet has funded accounts')
  return new TransactionLoad(modules, { sender, chainId })
}
