import { shortPeer } from '../src/lib/shortIds.ts'
import { RpcError } from './connection.ts'
import { byId, el, setText } from './dom.ts'
import { messageOf } from './format.ts'
import type { NodeState } from './nodeState.ts'

export const NO_CHANGES =
  'This page cannot change anything, because other machines reach the node and it has no token. Start the node with --rpc.token-file to block or protect peers.'

const ABOUT_TOKEN =
  'Copy the token from the file of --rpc.token-file. Only this tab stores it, and only until the tab closes.'

/** An operator's action on a peer. */
export interface PeerAction {
  method: string
  label: string
  /** The consequences, shown in the confirmation. */
  explains: string
  done: string
  danger?: true
  /** The reason is stored with the action. */
  takesReason?: true
}

export const PEER_ACTIONS = {
  block: {
    method: 'deviump2p_block',
    label: 'Block',
    explains: 'The node closes its connections and refuses it until you unblock it.',
    done: 'is blocked',
    danger: true,
    takesReason: true,
  },
  unblock: {
    method: 'deviump2p_unblockPeer',
    label: 'Unblock',
    explains: 'The node removes it from the block list, ends its ban, and resets its score.',
    done: 'is no longer blocked or banned',
  },
  protect: {
    method: 'deviump2p_protectPeer',
    label: 'Protect',
    explains:
      'The node does not disconnect it when there are too many connections. It can still be banned for its score.',
    done: 'is protected',
  },
  unprotect: {
    method: 'deviump2p_unprotectPeer',
    label: 'Unprotect',
    explains: 'The node may disconnect it when there are too many connections.',
    done: 'is no longer protected',
  },
  disconnect: {
    method: 'deviump2p_disconnectPeer',
    label: 'Disconnect',
    explains: 'The node closes its connections and forgets it. The peer may reconnect.',
    done: 'is disconnected',
    danger: true,
  },
} as const satisfies Record<string, PeerAction>

/** Confirms, calls the RPC, and shows the result. */
export async function carryOut(node: NodeState, action: PeerAction, peerId: string, peerName: string): Promise<void> {
  const title = `${action.label} ${peerName}?`
  const input = el('input', { type: 'text', id: 'reason' })
  input.maxLength = 200
  input.autocomplete = 'off'
  const question = action.takesReason ? [el('label', { for: 'reason' }, 'Reason (stored with the entry)'), input] : []
  const reason = await ask(title, [el('p', {}, action.explains), el('p', { class: 'id' }, peerId), ...question], {
    confirm: action.label,
    danger: action.danger === true,
    value: () => input.value.trim(),
  })
  if (reason === undefined) return
  try {
    await callWithToken(node, action.method, reason === '' ? [peerId] : [peerId, reason])
    toast(`${peerName === peerId ? shortPeer(peerId) : peerName} ${action.done}.`)
    await node.refreshPeers()
  } catch (error) {
    toast(`${action.label} failed: ${messageOf(error)}`, 'bad')
  }
}

/** Calls a method, and requests the token from the operator if the node requires it. */
export async function callWithToken<T>(
  node: NodeState,
  method: string,
  params: readonly unknown[],
  timeoutMs?: number,
): Promise<T> {
  try {
    return await node.connection.call<T>(method, params, timeoutMs)
  } catch (error) {
    if (!(error instanceof RpcError) || !error.needsToken) throw error
    // A token that the node still refuses is wrong.
    if (node.connection.hasToken) node.connection.forgetToken()
    if (!(await requestToken(node))) throw error
    return await node.connection.call<T>(method, params, timeoutMs)
  }
}

/** Resolves to whether the connection has accepted a token. */
export async function requestToken(node: NodeState): Promise<boolean> {
  const input = el('input', { type: 'password', id: 'token' })
  input.autocomplete = 'off'
  const token = await ask(
    `${node.name} requires a token`,
    [el('p', {}, ABOUT_TOKEN), el('label', { for: 'token' }, 'Token'), input],
    { confirm: 'Use token', value: () => input.value.trim() },
  )
  if (token === undefined || token === '') return false
  try {
    await node.connection.useToken(token)
    return true
  } catch {
    node.connection.forgetToken()
    toast(`${node.name} refused the token.`, 'bad')
    return false
  }
}

let toastTimer = 0

export function toast(text: string, tone: 'good' | 'bad' = 'good'): void {
  const line = byId('toast')
  setText(line, text)
  line.dataset.tone = tone
  line.classList.add('shown')
  clearTimeout(toastTimer)
  toastTimer = window.setTimeout(() => line.classList.remove('shown'), 8_000)
}

interface Question {
  confirm: string
  danger?: boolean
  value?: () => string
}

/** Resolves to the value, or undefined if the operator cancelled. */
export function ask(
  title: string,
  content: readonly HTMLElement[],
  { confirm, danger = false, value = () => '' }: Question,
): Promise<string | undefined> {
  const dialog = byId('ask') as HTMLDialogElement
  return new Promise((resolve) => {
    const finish = (answer: string | undefined): void => {
      dialog.onclose = null
      dialog.close()
      resolve(answer)
    }
    const form = el(
      'form',
      {},
      el('h2', { id: 'ask-title' }, title),
      ...content,
      el(
        'div',
        { class: 'ask-buttons' },
        el('button', { type: 'button', class: 'button', onclick: () => finish(undefined) }, 'Cancel'),
        el('button', { type: 'submit', class: danger ? 'button danger' : 'button primary' }, confirm),
      ),
    )
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      finish(value())
    })
    dialog.replaceChildren(form)
    dialog.onclose = () => finish(undefined)
    dialog.showModal()
  })
}
