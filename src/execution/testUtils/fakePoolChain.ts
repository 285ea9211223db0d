import type { Hex } from '../../lib/hex.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import type { AccountState, HeadChange } from '../chain/types.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import type { Block, BlockHeader, SignedTransaction } from '../primitives/block.ts'
import type { PoolChain } from '../txPool/index.ts'
import { loadRecordedRpc, recordedBlock } from './recordedRpc.ts'

const EMPTY_CODE_HASH: Hex = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'

/** A chain whose accounts, fees and blocks a test sets directly. */
export class FakePoolChain implements PoolChain {
  readonly config: ChainConfig = {
    chainId: 901n,
    forks: { holocene: 0 },
    eip1559Elasticity: 6n,
    eip1559Denominator: 50n,
    eip1559DenominatorCanyon: 250n,
    json: {},
  }
  baseFee = 1_000_000_000n
  l1Fee = 0n
  isthmus = false
  karst = false
  private header: BlockHeader = {
    ...recordedBlock(loadRecordedRpc('holocene-span-brotli-calldata'), 1).header,
    hash: ZERO_HASH,
    number: 0,
  }
  private readonly accounts = new Map<Hex, AccountState>()
  private readonly blocks = new Map<Hex, Block>()
  private readonly listeners = new Set<(change: HeadChange) => void>()

  setAccount(address: Hex, account: { nonce?: bigint; balance?: bigint; codeHash?: Hex }): void {
    const before = this.accounts.get(address) ?? {
      nonce: 0n,
      balance: 10n ** 18n,
      storageRoot: ZERO_HASH,
      codeHash: EMPTY_CODE_HASH,
    }
    this.accounts.set(address, { ...before, ...account })
  }

  /** A block on the head with these transactions. Increments the senders' nonces, but does not move the head. */
  block(transactions: SignedTransaction[], salt = 0): BlockHeader {
    const hash: Hex = `0x${(this.blocks.size + 1).toString(16).padStart(60, '0')}${salt.toString(16).padStart(4, '0')}`
    const { number, timestamp } = this.header
    const header = { ...this.header, hash, parentHash: this.header.hash, number: number + 1, timestamp: timestamp + 2 }
    this.blocks.set(hash, { header, transactions, sizeBytes: 0 })
    return header
  }

  move(head: BlockHeader, added: BlockHeader[], removed: BlockHeader[] = []): void {
    this.header = head
    for (const listener of this.listeners) listener({ head, added, removed })
  }

  setGasLimit(gasLimit: bigint): void {
    this.header = { ...this.header, gasLimit }
  }

  isForkActive = (fork: string) =>
    this.karst || (this.isthmus && fork !== 'karst') || !['isthmus', 'jovian', 'karst', 'lagoon'].includes(fork)
  head = () => this.header
  blockByHash = async (hash: Hex) => this.blocks.get(hash)
  nextBaseFee = () => this.baseFee
  l1Fees = async () => ({ l1DataFee: () => this.l1Fee, operatorFee: () => 0n })
  stateAt = async () => ({
    account: (address: Hex) => this.accounts.get(address),
    code: () => new Uint8Array(),
    storage: () => ZERO_HASH,
    proof: () => {
      throw new Error('not part of this fake')
    },
  })
  onHead = (listener: (change: HeadChange) => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}
