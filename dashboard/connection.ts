/** JSON-RPC over one WebSocket to one node. It reconnects after each close. */

/** The error that a node returned. */
export class RpcError extends Error {
  readonly code: number
  /** The node requires a token. */
  readonly needsToken: boolean

  constructor({ code, message, data }: { code: number; message: string; data?: { needs?: string } }) {
    super(message)
    this.code = code
    this.needsToken = data?.needs === 'token'
  }
}

export interface ConnectionListener {
  /** Called when the connection opens. The caller subscribes and sends requests. */
  onOpen(): void
  /** `everOpened`: whether it was open before. */
  onClosed(everOpened: boolean): void
}

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 10_000
const CALL_TIMEOUT_MS = 15_000
/** Maximum number of pending calls. More calls would only wait. */
const MAX_PENDING = 64

interface Pending {
  resolve: (result: unknown) => void
  reject: (error: Error) => void
  timer: number
}

export class Connection {
  private readonly url: string
  private readonly listener: ConnectionListener
  private socket: WebSocket | undefined
  private readonly pending = new Map<number, Pending>()
  private readonly topics = new Map<string, (news: unknown) => void>()
  private lastId = 0
  private retryMs = FIRST_RETRY_MS
  private everOpened = false

  constructor(url: string, listener: ConnectionListener) {
    this.url = url
    this.listener = listener
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN
  }

  get hasToken(): boolean {
    return sessionStorage.getItem(this.tokenKey) !== null
  }

  open(): void {
    const token = sessionStorage.getItem(this.tokenKey)
    const socket = new WebSocket(this.url, token === null ? [] : ['devium', `bearer.${hexOf(token)}`])
    this.socket = socket
    let opened = false
    socket.onopen = () => {
      opened = true
      this.everOpened = true
      this.retryMs = FIRST_RETRY_MS
      this.listener.onOpen()
    }
    socket.onmessage = ({ data }) => this.read(String(data))
    socket.onclose = () => {
      if (this.socket !== socket) return
      this.fail()
      this.listener.onClosed(this.everOpened)
      setTimeout(() => this.open(), this.retryMs)
      this.retryMs = Math.min(LAST_RETRY_MS, opened ? FIRST_RETRY_MS : this.retryMs * 2)
    }
  }

  /** Sends this token from now on, until the tab is closed. */
  useToken(token: string): Promise<void> {
    sessionStorage.setItem(this.tokenKey, token)
    const old = this.socket
    this.socket = undefined
    old?.close()
    this.fail()
    this.open()
    const socket = this.socket as WebSocket | undefined
    return new Promise((resolve, reject) => {
      socket?.addEventListener('open', () => resolve())
      socket?.addEventListener('close', () => reject(new Error('the node refused the connection')))
    })
  }

  forgetToken(): void {
    sessionStorage.removeItem(this.tokenKey)
  }

  /** Rejects with RpcError if the node returns an error, and with Error if it does not answer. */
  call<Result>(method: string, params: readonly unknown[] = [], timeoutMs = CALL_TIMEOUT_MS): Promise<Result> {
    const { socket } = this
    if (socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error('not connected'))
    if (this.pending.size >= MAX_PENDING) return Promise.reject(new Error('the node does not answer'))
    const id = ++this.lastId
    return new Promise<Result>((resolve, reject) => {
      const timer = window.setTimeout(
        () => this.takePending(id)?.reject(new Error(`no answer to ${method}`)),
        timeoutMs,
      )
      this.pending.set(id, { resolve: (result) => resolve(result as Result), reject, timer })
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
  }

  /** Subscribes to a topic until this connection closes. */
  async subscribe<Message>(topic: string, onMessage: (message: Message) => void): Promise<void> {
    const id = await this.call<string>('devium_subscribe', [topic])
    this.topics.set(id, (message) => onMessage(message as Message))
  }

  private read(text: string): void {
    const message = JSON.parse(text)
    if (message.method === 'devium_subscription') {
      this.topics.get(message.params.subscription)?.(message.params.result)
      return
    }
    const waiting = this.takePending(message.id)
    if (message.error !== undefined) waiting?.reject(new RpcError(message.error))
    else waiting?.resolve(message.result)
  }

  private takePending(id: number): Pending | undefined {
    const found = this.pending.get(id)
    if (found !== undefined) clearTimeout(found.timer)
    this.pending.delete(id)
    return found
  }

  private fail(): void {
    for (const id of [...this.pending.keys()]) this.takePending(id)?.reject(new Error('the connection was closed'))
    this.topics.clear()
  }

  private get tokenKey(): string {
    return `devium-token ${this.url}`
  }
}

function hexOf(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
