import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { decodeAccount } from '../state/account.ts'
import { nodeKey, type StateStore } from '../state/stateDatabase.ts'
import { EMPTY_TRIE_ROOT, openTrie, type Trie } from '../state/trie.ts'
import type { LoadedNode } from '../state/trieNode.ts'

export interface WholeState {
  /** `nodeKey`s of all nodes. */
  keys: Set<Hex>
  /** Wei of all accounts. */
  balances: bigint
  accounts: number
}

/** Reads every node of a state. Throws when one is missing. */
export function readWholeState(store: Pick<StateStore, 'node'>, root: Hex): WholeState {
  const state: WholeState = { keys: new Set(), balances: 0n, accounts: 0 }
  const trieOf = (hash: Uint8Array, owner?: Uint8Array): Trie =>
    openTrie(
      {
        node(nodeHash) {
          const encoding = store.node(nodeHash, owner)
          if (encoding === undefined) throw new Error(`node ${toHex(nodeHash)} of the state ${root} is missing`)
          return encoding
        },
      },
      hash,
    )
  const visit = (trie: Trie, owner: Uint8Array | undefined, onLeaf: (path: Uint8Array, value: Uint8Array) => void) =>
    trie.forEachNode((node: LoadedNode, path: Uint8Array) => {
      if (node.ref?.length === 32) state.keys.add(toHex(nodeKey(node.ref, owner)))
      if (node.kind === 'leaf') onLeaf(path, node.value)
    })
  visit(trieOf(fromHex(root)), undefined, (path, value) => {
    const account = decodeAccount(value)
    state.accounts++
    state.balances += account.balance
    const owner = fromHex(Array.from(path, (nibble) => nibble.toString(16)).join(''), 32)
    if (toHex(account.storageRoot) !== EMPTY_TRIE_ROOT) visit(trieOf(account.storageRoot, owner), owner, () => {})
  })
  return state
}

/** The trie nodes in the chain database of a data directory, which nobody has open. */
export async function nodesOnDisk(datadir: string): Promise<Map<Hex, Uint8Array>> {
  return tableOnDisk(datadir, 'n')
}

/** One table, by the letter that its keys begin with. */
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
