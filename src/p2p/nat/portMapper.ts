import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import { parseCidr, parseIp, subnetContains } from '../../lib/ipNet.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import type { ExternalReach } from '../discovery/ownNode.ts'
import { type FindNatRouter, type MappedProtocol, type Mapping, type NatRouter, NatRouterError } from './natRouter.ts'

/** If the node crashes, its mappings expire after this time. */
const LIFETIME_S = 1_200
/** A renewal also detects a restarted router or a new address within this time. */
const RENEW_MS = 600_000
const retryAfterMs = exponentialBackoff(60_000, RENEW_MS)
const CALL_TIMEOUT_MS = 5_000
const RELEASE_TIMEOUT_MS = 2_000
/** Carrier-grade NAT (RFC 6598) and private ranges: not public addresses. */
const INNER_RANGES = ['100.64.0.0/10', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '127.0.0.0/8', '0.0.0.0/8'].map(
  parseCidr,
)

interface MappedPort {
  protocol: MappedProtocol
  internalPort: number
  mapping: Mapping | undefined
}

/** Keeps ports of this node mapped on the router. A router never makes the node fail. */
export function createPortMapper(modules: {
  findNatRouter: FindNatRouter
  clock: Clock
  logger: Logger
  /** The external address is new or has changed; undefined: it was lost. */
  onChange(address: ExternalReach | undefined): void
}) {
  const { clock } = modules
  const logger = modules.logger.child({ module: 'nat' })
  const stopping = new AbortController()
  let ports: MappedPort[] = []
  let router: NatRouter | undefined
  let announced: ExternalReach | undefined
  let expiresMs = 0
  let failures = 0
  let isInner = false
  let isPartial = false
  let cancel: (() => void) | undefined
  let running: Promise<void> | undefined

  const limited = (): AbortSignal => AbortSignal.any([stopping.signal, AbortSignal.timeout(CALL_TIMEOUT_MS)])
  const round = async (): Promise<void> => {
    try {
      router ??= await modules.findNatRouter(stopping.signal)
      const address = await mapAll(router)
      if (stopping.signal.aborted) return
      failures = 0
      announce(router, address)
    } catch (error) {
      if (stopping.signal.aborted) return
      router = undefined
      failures += 1
      const fields = { err: describeError(error) }
      if (failures === 1) logger.warn('Ports are not mapped: peers may be unable to reach this node', fields)
      else logger.debug('Ports are still not mapped', fields)
      if (announced !== undefined && clock.now() >= expiresMs) withdraw()
    }
    const shortestMs = Math.min(...ports.map(({ mapping }) => (mapping?.lifetimeS || LIFETIME_S) * 500))
    schedule(failures === 0 ? Math.min(RENEW_MS, shortestMs) : retryAfterMs(failures))
  }
  /** Throws when no port could be mapped. */
  const mapAll = async (on: NatRouter): Promise<ExternalReach> => {
    const errors: unknown[] = []
    for (const port of ports) {
      const { protocol, internalPort } = port
      try {
        port.mapping = await on.map(
          { protocol, internalPort, externalPort: port.mapping?.externalPort ?? internalPort, lifetimeS: LIFETIME_S },
          limited(),
        )
      } catch (error) {
        errors.push(error)
        if (error instanceof NatRouterError && error.code === 'refused') port.mapping = undefined
      }
    }
    if (errors.length === ports.length) throw errors[0]
    if (errors.length > 0 && !isPartial) {
      logger.warn('The router does not map one of our ports', { gateway: on.name, err: describeError(errors[0]) })
    }
    isPartial = errors.length > 0
    const lifetimes = ports.map(({ mapping }) => mapping?.lifetimeS).filter((lifetime) => lifetime !== undefined)
    expiresMs = clock.now() + Math.max(...lifetimes.map((lifetime) => lifetime || LIFETIME_S)) * 1000
    const externalPort = (wanted: MappedProtocol): number | undefined =>
      ports.find(({ protocol }) => protocol === wanted)?.mapping?.externalPort
    return { ip: await on.externalIp(limited()), tcpPort: externalPort('tcp'), udpPort: externalPort('udp') }
  }
  const announce = (on: NatRouter, address: ExternalReach): void => {
    if (announced?.ip === address.ip && announced.tcpPort === address.tcpPort && announced.udpPort === address.udpPort)
      return
    const fields = { gateway: on.name, ip: address.ip, tcp: address.tcpPort, udp: address.udpPort }
    if (INNER_RANGES.some((range) => subnetContains(range, parseIp(address.ip)))) {
      if (!isInner) logger.warn('The router is behind another router: peers may be unable to reach this node', fields)
      isInner = true
      withdraw()
      return
    }
    isInner = false
    logger.info('Router maps our ports', fields)
    announced = address
    modules.onChange(address)
  }
  const withdraw = (): void => {
    if (announced === undefined) return
    announced = undefined
    modules.onChange(undefined)
  }
  const schedule = (delayMs: number): void => {
    cancel = clock.setTimeout(() => {
      running = round()
    }, delayMs)
  }
  const release = async (on: NatRouter): Promise<void> => {
    const signal = AbortSignal.timeout(RELEASE_TIMEOUT_MS)
    const mapped = ports.flatMap(({ mapping, ...port }) => (mapping === undefined ? [] : [{ ...port, ...mapping }]))
    const ends = await Promise.allSettled(mapped.map((mapping) => on.unmap(mapping, signal)))
    for (const end of ends) {
      if (end.status === 'rejected') {
        logger.debug('A mapping was not removed, and will expire', { err: describeError(end.reason) })
      }
    }
  }
  return {
    /** The listening ports. `udp` is undefined without discovery. */
    start({ tcp, udp }: { tcp: number; udp: number | undefined }): void {
      ports = [{ protocol: 'tcp', internalPort: tcp, mapping: undefined }]
      if (udp !== undefined) ports.push({ protocol: 'udp', internalPort: udp, mapping: undefined })
      running = round()
    },
    /** Removes the mappings, within a few seconds. */
    async stop(): Promise<void> {
      stopping.abort(new NatRouterError('no-answer', 'stopping'))
      cancel?.()
      await running
      const on = router
      router = undefined
      if (on !== undefined) await release(on)
    },
  }
}
