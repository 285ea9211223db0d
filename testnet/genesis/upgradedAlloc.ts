import { executeDeposit } from '../../src/execution/block/executeTransaction.ts'
import { parseChainConfig } from '../../src/execution/config/chainConfig.ts'
import { putAccounts } from '../../src/execution/config/genesis.ts'
import { createEnvironment } from '../../src/execution/evm/environment.ts'
import { storageWord } from '../../src/execution/evm/storageWord.ts'
import { type AccountRecord, isEmptyAccount } from '../../src/execution/state/account.ts'
import { NO_STATE, StateDatabase } from '../../src/execution/state/stateDatabase.ts'
import { WorldState } from '../../src/execution/state/worldState.ts'
import { DeviumError } from '../../src/lib/errors.ts'
import { type Hex, toHex, toQuantity } from '../../src/lib/hex.ts'
import {
  type DepositTx,
  decodeDeposit,
  EMPTY_TRIE_ROOT,
  encodeDepositTx,
  SEQUENCER_FEE_VAULT_ADDRESS,
  ZERO_HASH,
} from '../../src/rollup/protocol/index.ts'
import type { GenesisAccount, GenesisAlloc } from './genesisFile.ts'

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
  const world = new ListedState(new StateDatabase({ store: NO_STATE }).at(NO_STATE), EMPTY_TRIE_ROOT)
  putAccounts(world, alloc)
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
  const upgraded: GenesisAlloc = {}
  for (const [address, slots] of world.slots) {
    const account = readAccount(world, address, slots)
    if (account !== undefined) upgraded[address] = account
  }
  return upgraded
}

/** A state that knows all its accounts and their slots. */
class ListedState extends WorldState {
  readonly slots = new Map<Hex, Set<Hex>>()

  override putAccount(address: Hex, record: AccountRecord | undefined): void {
    if (!this.slots.has(address)) this.slots.set(address, new Set())
    super.putAccount(address, record)
  }

  /** An account is put before its storage. */
  override putStorage(address: Hex, slot: Hex, value: Uint8Array): void {
    this.slots.get(address)?.add(slot)
    super.putStorage(address, slot, value)
  }
}

function readAccount(world: WorldState, address: Hex, slots: Iterable<Hex>): GenesisAccount | undefined {
  const record = world.account(address)
  if (record === undefined || isEmptyAccount(record)) return undefined
  const account: GenesisAccount = { balance: toQuantity(record.balance) }
  if (record.nonce > 0n) account.nonce = toQuantity(record.nonce)
  const code = world.code(address)
  if (code.length > 0) account.code = toHex(code)
  const storage: [Hex, Hex][] = []
  for (const slot of slots) {
    const value = world.storage(address, slot)
    if (value.length > 0) storage.push([slot, storageWord(value)])
  }
  if (storage.length > 0) account.storage = Object.fromEntries(storage)
  return account
}
