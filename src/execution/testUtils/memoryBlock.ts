import { bigIntToMinimalBytes, bytesToBigInt } from '../../lib/bytes.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { decodeDeposit, EMPTY_TRIE_ROOT, encodeDepositTx, L1_BLOCK_ADDRESS } from '../../rollup/protocol/index.ts'
import { type Fork, ZERO_HASH } from '../../rollup/protocol/types.ts'
import { BlockExecution } from '../block/blockExecution.ts'
import type { ChainConfig } from '../config/chainConfig.ts'
import { createEnvironment } from '../evm/environment.ts'
import type { BlockContext } from '../evm/message.ts'
import { ReferenceEvm } from '../evm/testUtils/referenceEvm.ts'
import type { DepositTransaction } from '../primitives/block.ts'
import { NO_STATE, StateDatabase } from '../state/stateDatabase.ts'
import { WorldState } from '../state/worldState.ts'

export interface MemoryAccount {
  balance?: bigint
  nonce?: bigint
  code?: Hex
  /** By slot, in decimal or as 0x-prefixed hex. */
  storage?: Record<string, bigint>
}

export interface MemoryBlockOptions {
  /** The latest active fork; default granite. */
  fork?: Fork | 'bedrock'
  accounts?: Record<Hex, MemoryAccount>
  /** Default 901. */
  chainId?: bigint
  block?: Partial<Omit<BlockContext, 'rules' | 'chainId'>>
  /** Runs messages with EthereumJS. */
  isReference?: boolean
  /** The state below `accounts`; default empty. */
  world?: WorldState
}

export interface MemoryBlock {
  execution: BlockExecution
  world: WorldState
  config: ChainConfig
}

export const COINBASE: Hex = '0x4200000000000000000000000000000000000011'

/** The L1 cost parameters in L1Block's storage. */
export const L1_BLOCK_ACCOUNT: MemoryAccount = {
  nonce: 1n,
  storage: {
    1: 1_000_000_000n,
    // baseFeeScalar 2, blobBaseFeeScalar 3
    3: (2n << 96n) | (3n << 64n),
    5: 50n,
    6: 7_000_000n,
    7: 10_000_000n,
    // operatorFeeScalar 5,000,000, operatorFeeConstant 77
    8: (5_000_000n << 64n) | 77n,
  },
}

/** A block to execute on a state in memory, with one fork active from the start. */
export function createMemoryBlock({
  fork = 'granite',
  accounts = {},
  chainId = 901n,
  block = {},
  isReference = false,
  world = new WorldState(new StateDatabase({ store: NO_STATE }).at(NO_STATE), EMPTY_TRIE_ROOT),
}: MemoryBlockOptions): MemoryBlock {
  const config: ChainConfig = {
    chainId,
    forks: fork === 'bedrock' ? {} : { [fork]: 0 },
    eip1559Elasticity: 6n,
    eip1559Denominator: 50n,
    eip1559DenominatorCanyon: 250n,
    json: {},
  }
  const allocation: Record<string, MemoryAccount> = { [L1_BLOCK_ADDRESS]: L1_BLOCK_ACCOUNT, ...accounts }
  for (const [address, account] of Object.entries(allocation)) {
    allocate(world, address as Hex, account)
  }
  world.endTransaction()
  const ancestry = { header: () => undefined, canonicalHeader: () => undefined, isCanonical: () => false }
  const env = createEnvironment(
    { config, ancestry },
    world,
    {
      number: 7,
      timestamp: 1000,
      coinbase: COINBASE,
      prevRandao: ZERO_HASH,
      gasLimit: 30_000_000n,
      baseFee: 1_000n,
      ...block,
    },
    ZERO_HASH,
  )
  if (isReference) env.evm = new ReferenceEvm(world, chainId, env.block.rules)
  return { execution: new BlockExecution(env, config), world, config }
}

export function allocate(
  world: WorldState,
  address: Hex,
  { balance = 0n, nonce = 0n, code, storage = {} }: MemoryAccount,
): void {
  world.addBalance(address, balance)
  world.setNonce(address, nonce)
  if (code !== undefined) world.putCode(address, fromHex(code))
  for (const [slot, value] of Object.entries(storage)) {
    world.putStorage(address, wordOf(BigInt(slot)), bigIntToMinimalBytes(value))
  }
}

export function wordOf(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`
}

/** Current value of a storage slot. */
export function slotOf(world: WorldState, address: Hex, slot: bigint): bigint {
  return bytesToBigInt(world.storage(address, wordOf(slot)))
}

export function deposit(fields: Partial<Omit<DepositTransaction, 'type' | 'hash' | 'raw'>> = {}): DepositTransaction {
  const { gasLimit = 100_000n, ...rest } = fields
  return decodeDeposit(
    encodeDepositTx({
      sourceHash: `0x${'11'.repeat(32)}`,
      from: `0x${'33'.repeat(20)}`,
      to: `0x${'44'.repeat(20)}`,
      mint: 0n,
      value: 0n,
      gas: gasLimit,
      isSystemTx: false,
      data: new Uint8Array(),
      ...rest,
    }),
  )
}
