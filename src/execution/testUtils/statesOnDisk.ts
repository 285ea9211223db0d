import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { bytesToText, concatBytes, equalBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { EMPTY_TRIE_ROOT } from '../../rollup/protocol/constants.ts'
import { decodeVersion } from '../chain/storage/stateDisk.ts'
import { decodeAccount } from '../state/account.ts'
import type { StateView } from '../state/stateDatabase.ts'
import { accountKey, nodePrefix, type StateKey, slotKey } from '../state/stateKeys.ts'
import { openTrie, type Trie } from '../state/trie.ts'
import { fromNibbles, type LoadedNode } from '../state/trieNode.ts'

export interface WholeState {
  /** All nodes. */
  keys: Set<StateKey>
  /** Accounts and slots. */
  leaves: Map<StateKey, Uint8Array>
  /** Total wei of all accounts. */
  balances: bigint
  accounts: number
}

/** Reads every node of a state. Throws if one is missing. */
export function readWholeState(view: Pick<StateView, 'node'>, root: Hex): WholeState {
  const state: WholeState = { keys: new Set(), leaves: new Map(), balances: 0n, accounts: 0 }
  const trieOf = (hash: Uint8Array, owner?: Uint8Array): Trie =>
    openTrie(
      {
        node(path, nodeHash) {
          const encoding = view.node(nodePrefix(owner) + path, nodeHash)
          if (encoding === undefined || !equalBytes(keccak256(encoding), nodeHash))
            throw new Error(`node ${toHex(nodeHash)} of the state ${root} is missing`)
          return encoding
        },
      },
      hash,
    )
  const visit = (trie: Trie, owner: Uint8Array | undefined, onLeaf: (path: Uint8Array, value: Uint8Array) => void) =>
    trie.forEachNode((node: LoadedNode, above: Uint8Array) => {
      if (node.ref?.length === 32) state.keys.add(nodePrefix(owner) + bytesToText(above, 'latin1'))
      if (node.kind === 'leaf') onLeaf(concatBytes(above, node.key), node.value)
    })
  visit(trieOf(fromHex(root)), undefined, (path, value) => {
    const account = decodeAccount(value)
    const owner = fromNibbles(path)
    state.leaves.set(accountKey(owner), value)
    state.accounts++
    state.balances += account.balance
    if (toHex(account.storageRoot) === EMPTY_TRIE_ROOT) return
    visit(trieOf(account.storageRoot, owner), owner, (slotPath, slot) => {
      state.leaves.set(slotKey(owner, fromNibbles(slotPath)), slot)
    })
  })
  return state
}

/** The base state in the chain database of a data directory that no process has open; null: a deletion mark. */
export async function baseOnDisk(datadir: string): Promise<Map<StateKey, Uint8Array | null>> {
  const base = new Map<StateKey, Uint8Array | null>()
  for (const letter of ['A', 'O', 'a', 'o']) {
    for (const [key, stored] of await tableOnDisk(datadir, letter)) {
      base.set(letter + bytesToText(fromHex(key), 'latin1'), decodeVersion(stored).value)
    }
  }
  return base
}

/** One table, by the first character of its keys. */
export async function tableOnDisk(datadir: string, letter: string): Promise<Map<Hex, Uint8Array>> {
  const level = new ClassicLevel<Uint8Array, Uint8Array>(join(datadir, 'geth', 'chaindata'), {
    keyEncoding: 'view',
    valueEncoding: 'view',
    createIfMissing: false,
  })
  const found = new Map<Hex, Uint8Array>()
  const prefix = letter.charCodeAt(0)
  try {
    const range = { gte: Uint8Array.of(prefix), lt: Uint8Array.of(prefix + 1) }
    for await (const [key, value] of level.iterator(range)) found.set(toHex(key.subarray(1)), value)
  } finally {
    await level.close()
  }
  return found
}
