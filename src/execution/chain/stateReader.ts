import { bytesToBigInt, EMPTY_BYTES, equalBytes } from '../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { storageWord } from '../evm/storageWord.ts'
import { type AccountRecord, EMPTY_CODE_HASH, EMPTY_STORAGE_ROOT } from '../state/account.ts'
import type { StateDatabase, StateSource, StateView } from '../state/stateDatabase.ts'
import type { AccountProof, AccountState } from './types.ts'

const ABSENT: AccountRecord = { nonce: 0n, balance: 0n, storageRoot: EMPTY_STORAGE_ROOT, codeHash: EMPTY_CODE_HASH }

export type StateReader = ReturnType<typeof createStateReader>

/** Reads one state. Accounts and slots are read flat if the view can; proofs read the trie nodes. */
export function createStateReader(states: StateDatabase, root: Hex, view: StateView) {
  const [flat, tries] = [states.at(view), states.at(view, false)]
  const recordIn = (source: StateSource, address: Hex) => source.readAccount(source.openTrie(fromHex(root)), address)
  const record = (address: Hex) => recordIn(flat, address)
  return {
    /** Undefined if the account does not exist. */
    account(address: Hex): AccountState | undefined {
      const found = record(address)
      return found === undefined ? undefined : toState(found)
    },
    /** Empty if there is no code. */
    code(address: Hex): Uint8Array {
      const { codeHash } = record(address) ?? ABSENT
      return equalBytes(codeHash, EMPTY_CODE_HASH) ? EMPTY_BYTES : states.code(toHex(codeHash))
    },
    /** 32 bytes; `slot` is 32 bytes. */
    storage(address: Hex, slot: Hex): Hex {
      return storageWord(flat.readSlot(address, (record(address) ?? ABSENT).storageRoot, slot, true))
    },
    proof(address: Hex, slots: readonly Hex[]): AccountProof {
      const account = recordIn(tries, address) ?? ABSENT
      const storage = tries.openTrie(account.storageRoot, address)
      return {
        address,
        ...toState(account),
        accountProof: tries.openTrie(fromHex(root)).prove(tries.hashKey(address)),
        storageProof: slots.map((key) => ({
          key,
          value: bytesToBigInt(tries.readSlot(address, account.storageRoot, key, true)),
          proof: storage.prove(tries.hashKey(key)),
        })),
      }
    },
  }
}

function toState({ nonce, balance, storageRoot, codeHash }: AccountRecord): AccountState {
  return { nonce, balance, storageRoot: toHex(storageRoot), codeHash: toHex(codeHash) }
}
