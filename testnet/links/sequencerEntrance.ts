import { startTcpProxy, type TcpProxy } from './tcpProxy.ts'

/** One address for transactions, whichever node is the sequencer. */
export class SequencerEntrance {
  private readonly proxy: TcpProxy
  private readonly target: { port: number }

  private constructor(proxy: TcpProxy, target: { port: number }) {
    this.proxy = proxy
    this.target = target
  }

  /** `port` is that of the sequencer's execution client. */
  static async open(port: number, host: string): Promise<SequencerEntrance> {
    const target = { port }
    return new SequencerEntrance(await startTcpProxy(() => target.port, { host }), target)
  }

  get port(): number {
    return this.proxy.port
  }

  leadTo(port: number): void {
    this.target.port = port
    // Clients keep their connections, which lead to the old sequencer.
    this.proxy.cut()
    this.proxy.allow()
  }

  close(): Promise<void> {
    return this.proxy.close()
  }
}
