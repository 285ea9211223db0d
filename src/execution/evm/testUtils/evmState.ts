import type { AccountFields, StateManagerInterface } from '@ethereumjs/common'
import { Account, type Address } from '@ethereumjs/util'
import { toHex } from '../../../lib/hex.ts'
import type { AccountRecord } from '../../state/account.ts'
import type { WorldState } from '../../state/worldState.ts'
import { withoutLeadingZeros } from '../storageWord.ts'

/**
 * EthereumJS's view of a WorldState. The EVM changes account objects that it read, even if it fails later, so each read
 * returns a new object.
 */
export class EvmState implements StateManagerInterface {
  private world: WorldState | undefined

  readonly originalStorageCache = {
    get: async (address: Address, key: Uint8Array): Promise<Uint8Array> =>
      this.bound().originalStorage(toHex(address.bytes), toHex(key)),
    clear: () => {},
  }

  bind(world: WorldState | undefined): void {
    this.world = world
  }

  async getAccount(address: Address): Promise<Account | undefined> {
    const record = this.bound().account(toHex(address.bytes))
    return record === undefined ? undefined : toAccount(record)
  }

  async putAccount(address: Address, account?: Account): Promise<void> {
    this.bound().putAccount(toHex(address.bytes), account === undefined ? undefined : toRecord(account))
  }

  async deleteAccount(address: Address): Promise<void> {
    this.bound().deleteAccount(toHex(address.bytes))
  }

  async modifyAccountFields(address: Address, fields: AccountFields): Promise<void> {
    const account = (await this.getAccount(address)) ?? new Account()
    await this.putAccount(address, Object.assign(account, fields))
  }

  async putCode(address: Address, code: Uint8Array): Promise<void> {
    this.bound().putCode(toHex(address.bytes), code)
  }

  async getCode(address: Address): Promise<Uint8Array> {
    return this.bound().code(toHex(address.bytes))
  }

  async getCodeSize(address: Address): Promise<number> {
    return this.bound().code(toHex(address.bytes)).length
  }

  async getStorage(address: Address, key: Uint8Array): Promise<Uint8Array> {
    return this.bound().storage(toHex(address.bytes), toHex(key))
  }

  async putStorage(address: Address, key: Uint8Array, value: Uint8Array): Promise<void> {
    this.bound().putStorage(toHex(address.bytes), toHex(key), withoutLeadingZeros(value))
  }

  async clearStorage(address: Address): Promise<void> {
    this.bound().clearStorage(toHex(address.bytes))
  }

  async checkpoint(): Promise<void> {
    this.bound().checkpoint()
  }

  async commit(): Promise<void> {
    this.bound().commitCheckpoint()
  }

  async revert(): Promise<void> {
    this.bound().revertCheckpoint()
  }

  // The rest of the interface is for state managers with a trie. The EVM does not call it.

  async getStateRoot(): Promise<Uint8Array> {
    throw new Error('the EVM does not own the state root')
  }

  async setStateRoot(): Promise<void> {
    throw new Error('the EVM does not own the state root')
  }

  async hasStateRoot(): Promise<boolean> {
    throw new Error('the EVM does not own the state root')
  }

  clearCaches(): void {}

  shallowCopy(): EvmState {
    const copy = new EvmState()
    copy.bind(this.world)
    return copy
  }

  /** Throws if there is none. */
  bound(): WorldState {
    if (this.world === undefined) throw new Error('EVM used without a state')
    return this.world
  }
}

function toAccount(record: AccountRecord): Account {
  return new Account(record.nonce, record.balance, record.storageRoot, record.codeHash)
}

function toRecord(account: Account): AccountRecord {
  return {
    nonce: account.nonce,
    balance: account.balance,
    storageRoot: account.storageRoot,
    codeHash: account.codeHash,
  }
}
