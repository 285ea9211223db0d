import { bytesToBigInt, EMPTY_BYTES, equalBytes } from '../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { storageWord } from '../evm/storageWord.ts'
import { type AccountRecord, EMPTY_CODE_HASH, EMPTY_STORAGE_ROOT } from '../state/account.ts'
import type { FlatView } from '../state/flatState.ts'
import type { StateDatabase } from '../state/stateDatabase.ts'
import type { AccountProof, AccountState, StateReader } from './types.ts'

const ABSENT: AccountRecord = { nonce: 0n, balance: 0n, storageRoot: EMPTY_STORAGE_ROOT, codeHash: EMPTY_CODE_HASH }

/** State under one root, for reading: flat where `flat` reaches, but for proofs, which take the tries' nodes. */
export function createStateReader(states: StateDatabase, root: Hex, flat?: FlatView): StateReader {
  const record = (address: Hex) => states.readAccount(states.openTrie(fromHex(root)), address, flat)
  return {
    async account(address) {
      const found = record(address)
      return found === undefined ? undefined : toState(found)
    },
    async code(address) {
      const { codeHash } = record(address) ?? ABSENT
      return equalBytes(codeHash, EMPTY_CODE_HASH) ? EMPTY_BYTES : states.code(toHex(codeHash))
    },
    async storage(address, slot) {
      return storageWord(states.readSlot(address, (record(address) ?? ABSENT).storageRoot, slot, flat))
    },
    async proof(address, slots): Promise<AccountProof> {
      const account = states.readAccount(states.openTrie(fromHex(root)), address) ?? ABSENT
      const storage = states.openTrie(account.storageRoot, address)
      return {
        address,
        ...toState(account),
        accountProof: states.openTrie(fromHex(root)).prove(states.hashKey(address)),
        storageProof: slots.map((key) => ({
          key,
          value: bytesToBigInt(states.readSlot(address, account.storageRoot, key)),
          proof: storage.prove(states.hashKey(key)),
        })),
      }
    },
  }
}

function toState({ nonce, balance, storageRoot, codeHash }: AccountRecord): AccountState {
  return { nonce, balance, storageRoot: toHex(storageRoot), codeHash: toHex(codeHash) }
}
