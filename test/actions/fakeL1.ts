import { keccak256Hex } from '../../src/lib/hash.ts'
import type { Hex } from '../../src/lib/hex.ts'
import type { L1BlockInfo, L1BlockRef, L1Log, L1Receipt, L1Transaction } from '../../src/rollup/protocol/index.ts'

type Label = 'head' | 'safe' | 'finalized'

export type FakeL1Transaction = Pick<L1Transaction, 'from' | 'to' | 'input' | 'blobVersionedHashes'>
export type FakeL1Log = Omit<L1Log, 'logIndex'>

/** An L1 chain in memory that tests mine, finalize and reorganise block by block. */
export class FakeL1 {
  private chain: L1BlockInfo[] = []
  private readonly blocks = new Map<Hex, { info: L1BlockInfo; transactions: L1Transaction[]; logs: L1Log[] }>()
  private readonly listeners: Record<Label, ((ref: L1BlockRef) => void)[]> = { head: [], safe: [], finalized: [] }
  private readonly blockTime: number
  private readonly genesisTime: number
  /** Distinguishes the blocks of competing forks. */
  private fork = 0
  /** Thrown by every read while set. */
  failure: Error | undefined

  constructor(genesisTime: number, blockTime: number) {
    this.genesisTime = genesisTime
    this.blockTime = blockTime
    this.append([], [])
  }

  get head(): L1BlockInfo {
    const head = this.chain.at(-1)
    if (head === undefined) throw new Error('no L1 block')
    return head
  }

  at(number: number): L1BlockInfo {
    const info = this.chain[number]
    if (info === undefined) throw new Error(`no L1 block ${number}`)
    return info
  }

  /** Adds a block with these transactions, and logs of one more, and notifies the listeners. */
  mine(transactions: readonly FakeL1Transaction[] = [], logs: readonly FakeL1Log[] = []): L1BlockInfo {
    const info = this.append(transactions, logs)
    this.emit('head', info)
    return info
  }

  /** Takes away the blocks above `number`; what is mined from here on has other hashes. */
  rewind(number: number): void {
    this.chain = this.chain.slice(0, number + 1)
    this.fork++
  }

  finalize(number: number): void {
    this.emit('finalized', this.at(number))
  }

  onHead(listener: (ref: L1BlockRef) => void): void {
    this.listeners.head.push(listener)
    queueMicrotask(() => listener(this.head))
  }

  onSafe(listener: (ref: L1BlockRef) => void): void {
    this.listeners.safe.push(listener)
  }

  onFinalized(listener: (ref: L1BlockRef) => void): void {
    this.listeners.finalized.push(listener)
  }

  async blockInfoByHash(hash: Hex): Promise<L1BlockInfo | undefined> {
    if (this.failure !== undefined) throw this.failure
    const info = this.blocks.get(hash)?.info
    // Nodes forget blocks of forks that lost.
    return info !== undefined && this.chain[info.number]?.hash === hash ? info : undefined
  }

  async blockInfoByNumber(number: number): Promise<L1BlockInfo | undefined> {
    if (this.failure !== undefined) throw this.failure
    return this.chain[number]
  }

  async transactions(hash: Hex): Promise<{ info: L1BlockInfo; transactions: L1Transaction[] }> {
    if (this.failure !== undefined) throw this.failure
    const block = this.blocks.get(hash)
    if (block === undefined) throw new Error(`no L1 block ${hash}`)
    return block
  }

  async receipts(hash: Hex): Promise<{ info: L1BlockInfo; receipts: L1Receipt[] }> {
    const { info } = await this.transactions(hash)
    const logs = this.blocks.get(hash)?.logs ?? []
    return {
      info,
      receipts: logs.length === 0 ? [] : [{ transactionHash: hashOf(`${hash} logs`), status: true, logs }],
    }
  }

  private append(transactions: readonly FakeL1Transaction[], logs: readonly FakeL1Log[]): L1BlockInfo {
    const number = this.chain.length
    const hash = hashOf(`L1 ${this.fork} ${number}`)
    const info: L1BlockInfo = {
      hash,
      number,
      parentHash: this.chain.at(-1)?.hash ?? hashOf('before'),
      timestamp: this.genesisTime + number * this.blockTime,
      mixHash: hashOf(`randao ${this.fork} ${number}`),
      baseFeePerGas: 1_000_000_000n,
      excessBlobGas: 0n,
      parentBeaconBlockRoot: hashOf(`beacon ${this.fork} ${number}`),
    }
    this.chain.push(info)
    const full = transactions.map((transaction, index) => ({
      ...transaction,
      hash: hashOf(`${hash} ${index}`),
      type: transaction.blobVersionedHashes === undefined ? 2 : 3,
    }))
    const indexed = logs.map((log, logIndex) => ({ ...log, logIndex }))
    this.blocks.set(hash, { info, transactions: full, logs: indexed })
    return info
  }

  private emit(label: Label, ref: L1BlockRef): void {
    for (const listener of this.listeners[label]) listener(ref)
  }
}

export function hashOf(text: string): Hex {
  return keccak256Hex(new TextEncoder().encode(text))
}
