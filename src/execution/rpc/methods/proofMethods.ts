import { toHex, toQuantity } from '../../../lib/hex.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import { requireState } from '../blockLookup.ts'
import type { MethodTable } from '../context.ts'
import * as param from '../params.ts'
import { method, type Param, readArray, readStorageSlot } from '../params.ts'

const MAX_PROOF_SLOTS = 1024

const slots: Param<{ slot: `0x${string}`; shown: string }[]> = {
  parse: (value) =>
    readArray(value, 'storage keys', MAX_PROOF_SLOTS).map((key) => {
      const slot = readStorageSlot(key)
      // geth repeats a full 32-byte key, and shows a shorter one as a quantity.
      const isFull = typeof key === 'string' && key.length === 66
      return { slot, shown: isFull ? slot : toQuantity(BigInt(slot)) }
    }),
}
/** eth_getProof: the trie nodes from the state root to an account, and to its slots. */
export function createProofMethods(chain: ReadableChain): MethodTable {
  return {
    eth_getProof: method([param.address, slots, param.blockSelector], async ([address, keys, selector]) => {
      const state = await requireState(chain, selector)
      const proof = state.proof(
        address,
        keys.map(({ slot }) => slot),
      )
      return {
        address,
        accountProof: proof.accountProof.map(toHex),
        balance: toQuantity(proof.balance),
        codeHash: proof.codeHash,
        nonce: toQuantity(proof.nonce),
        storageHash: proof.storageRoot,
        storageProof: proof.storageProof.map((entry, index) => ({
          key: keys[index]?.shown ?? entry.key,
          value: toQuantity(entry.value),
          proof: entry.proof.map(toHex),
        })),
      }
    }),
  }
}
