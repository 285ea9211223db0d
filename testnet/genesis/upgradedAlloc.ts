import { executeDeposit } from '../../src/execution/block/executeTransaction.ts'
import { parseChainConfig } from '../../src/execution/config/chainConfig.ts'
import { createEnvironment } from '../../src/execution/evm/environment.ts'
import { slotValue, storageWord } from '../../src/execution/evm/storageWord.ts'
import {
  type AccountRecord,
  EMPTY_CODE_HASH,
  EMPTY_STORAGE_ROOT,
  isEmptyAccount,
} from '../../src/execution/state/account.ts'
import { NO_STATE, StateDatabase, type StateSource } from '../../src/execution/state/stateDatabase.ts'
import type { Trie } from '../../src/execution/state/trie.ts'
import { WorldState } from '../../src/execution/state/worldState.ts'
import { EMPTY_BYTES } from '../../src/lib/bytes.ts'
import { DeviumError } from '../../src/lib/errors.ts'
import { keccak256 } from '../../src/lib/hash.ts'
import { fromHex, type Hex, toHex, toQuantity } from '../../src/lib/hex.ts'
import {
  type DepositTx,
  decodeDeposit,
  EMPTY_TRIE_ROOT,
  encodeDepositTx,
  SEQUENCER_FEE_VAULT_ADDRESS,
  ZERO_HASH,
} from '../../src/rollup/protocol/index.ts'
import type { GenesisAccount, GenesisAlloc } from './stateRoot.ts'

/** Enough for any fork's deposits. Each deposit has its own gas limit. */
const GAS_LIMIT = 1_000_000_000n
const NO_ANCESTORS = { header: () => undefined, canonicalHeader: () => undefined, isCanonical: () => false }

/**
 * The allocation after the upgrade deposits have run on it in order, with the genesis block's rules. The result equals the state
 * of a chain that activated the forks while it ran. Throws DeviumError (`genesis`) if a deposit fails.
 */
export async function upgradedAlloc(
  alloc: GenesisAlloc,
  deposits: readonly DepositTx[],
  { chainConfig, timestamp }: { chainConfig: Record<string, unknown>; timestamp: number },
): Promise<GenesisAlloc> {
  const world = new RecordingState(new AllocSource(alloc))
  const block = {
    number: 0,
    timestamp,
    coinbase: SEQUENCER_FEE_VAULT_ADDRESS,
    prevRandao: ZERO_HASH,
    gasLimit: GAS_LIMIT,
    baseFee: 0n,
  }
  const modules = { config: parseChainConfig(chainConfig), ancestry: NO_ANCESTORS }
  const env = createEnvironment(modules, world, block, ZERO_HASH)
  for (const [index, deposit] of deposits.entries()) {
    const { status, failure } = await executeDeposit(env, decodeDeposit(encodeDepositTx(deposit)))
    if (status !== 1)
      throw new DeviumError('genesis', `upgrade deposit ${index} failed on the genesis state: ${failure}`)
  }
  const upgraded = { ...alloc }
  for (const [address, slots] of world.touched) {
    const account = readAccount(world, address, [...slots, ...slotsOf(alloc[address])])
    if (account === undefined) delete upgraded[address]
    else upgraded[address] = account
  }
  return upgraded
}

/** Records which accounts and slots may have changed. */
class RecordingState extends WorldState {
  readonly touched = new Map<Hex, Set<Hex>>()

  constructor(source: StateSource) {
    super(source, EMPTY_TRIE_ROOT)
  }

  override putAccount(address: Hex, record: AccountRecord | undefined): void {
    this.slotsOf(address)
    super.putAccount(address, record)
  }

  override putStorage(address: Hex, slot: Hex, value: Uint8Array): void {
    this.slotsOf(address).add(slot)
    super.putStorage(address, slot, value)
  }

  override clearStorage(address: Hex): void {
    this.slotsOf(address)
    super.clearStorage(address)
  }

  private slotsOf(address: Hex): Set<Hex> {
    let slots = this.touched.get(address)
    if (slots === undefined) {
      slots = new Set()
      this.touched.set(address, slots)
    }
    return slots
  }
}

/** Reads an allocation without tries. Building the tries of 2,000 proxies takes longer than the deposits. */
class AllocSource implements StateSource {
  private readonly alloc: GenesisAlloc
  private readonly codes = new Map<Hex, Uint8Array>()
  /** Keyed by code as text, because nearly all predeploys have the same code. */
  private readonly codeHashes = new Map<Hex, Uint8Array>()

  constructor(alloc: GenesisAlloc) {
    this.alloc = alloc
  }

  openTrie(): Trie {
    return new StateDatabase({ store: NO_STATE }).at(NO_STATE).openTrie(EMPTY_STORAGE_ROOT)
  }

  readAccount(_: Trie, address: Hex): AccountRecord | undefined {
    const account = this.alloc[address]
    if (account === undefined) return undefined
    return {
      nonce: BigInt(account.nonce ?? '0x0'),
      balance: BigInt(account.balance),
      // Identifies the storage. Nothing reads it as a trie root.
      storageRoot:
        account.storage === undefined ? EMPTY_STORAGE_ROOT : fromHex(`0x${'0'.repeat(24)}${address.slice(2)}`),
      codeHash: this.codeHash(account.code ?? '0x'),
    }
  }

  readSlot(_: Hex, storageRoot: Uint8Array, slot: Hex): Uint8Array {
    const word = this.alloc[toHex(storageRoot.subarray(12))]?.storage?.[slot]
    return word === undefined ? EMPTY_BYTES : slotValue(word)
  }

  code(hash: Hex): Uint8Array {
    return this.codes.get(hash) ?? EMPTY_BYTES
  }

  /** Identity: there is no trie, and this state is never committed. */
  hashKey(): Uint8Array {
    return EMPTY_BYTES
  }

  retain(): void {
    throw new RangeError('an allocation has no tries')
  }

  private codeHash(text: Hex): Uint8Array {
    if (text === '0x') return EMPTY_CODE_HASH
    let hash = this.codeHashes.get(text)
    if (hash === undefined) {
      const code = fromHex(text)
      hash = keccak256(code)
      this.codeHashes.set(text, hash)
      this.codes.set(toHex(hash), code)
    }
    return hash
  }
}

function slotsOf(account: GenesisAccount | undefined): Hex[] {
  return Object.keys(account?.storage ?? {}) as Hex[]
}

function readAccount(world: WorldState, address: Hex, slots: readonly Hex[]): GenesisAccount | undefined {
  const record = world.account(address)
  if (record === undefined || isEmptyAccount(record)) return undefined
  const account: GenesisAccount = { balance: toQuantity(record.balance) }
  if (record.nonce > 0n) account.nonce = toQuantity(record.nonce)
  const code = world.code(address)
  if (code.length > 0) account.code = toHex(code)
  const storage: [Hex, Hex][] = []
  for (const slot of new Set(slots)) {
    const value = world.storage(address, slot)
    if (value.length > 0) storage.push([slot, storageWord(value)])
  }
  if (storage.length > 0) account.storage = Object.fromEntries(storage)
  return account
}
