import { type StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import type { StreamEvents, StreamListening } from '../base/streams.ts'

type Listeners = { [Type in keyof StreamEvents]: Set<(event: StreamEvents[Type]) => void> }

/** A stream like libp2p's. The test is its remote side. Buffered bytes are delivered once there is a listener. */
export class FakeStream implements StreamListening {
  readableEnded = false
  readonly sent: Uint8Array[] = []
  isClosed = false
  aborted: Error | undefined
  /** The result of `send`: true if more may follow at once. */
  hasRoom = (): boolean => true
  onDrain = async (): Promise<void> => {}
  private readonly listeners: Listeners = { message: new Set(), end: new Set(), close: new Set() }
  private buffered: Uint8Array[] = []

  get readBufferLength(): number {
    return this.buffered.reduce((sum, bytes) => sum + bytes.length, 0)
  }
  addEventListener<Type extends keyof StreamEvents>(type: Type, listener: (event: StreamEvents[Type]) => void): void {
    this.listeners[type].add(listener)
    if (type === 'message') queueMicrotask(() => this.flush())
  }
  removeEventListener<Type extends keyof StreamEvents>(
    type: Type,
    listener: (event: StreamEvents[Type]) => void,
  ): void {
    this.listeners[type].delete(listener)
  }
  send(data: Uint8Array | { subarray(): Uint8Array }): boolean {
    this.sent.push(data.subarray())
    return this.hasRoom()
  }
  async close(): Promise<void> {
    this.isClosed = true
  }
  abort(error: Error): void {
    this.aborted = error
  }

  /** Bytes that wait for a listener. */
  buffer(bytes: Uint8Array): void {
    this.buffered.push(bytes)
  }
  receive(bytes: Uint8Array): void {
    this.buffer(bytes)
    this.flush()
  }
  /** The remote side closes its end. */
  end(): void {
    this.readableEnded = true
    this.dispatch('end', new Event('end'))
  }
  /** The stream closes. */
  fall(event: StreamCloseEvent): void {
    this.dispatch('close', event)
  }
  private dispatch<Type extends keyof StreamEvents>(type: Type, event: StreamEvents[Type]): void {
    for (const listener of [...this.listeners[type]]) listener(event)
  }
  private flush(): void {
    while (this.listeners.message.size > 0) {
      const next = this.buffered.shift()
      if (next === undefined) return
      this.dispatch('message', new StreamMessageEvent(next))
    }
  }
}
