import { describeError } from '../../lib/errors.ts'
import { routerCandidates } from './defaultRoute.ts'
import { createNatPmpRouter, NAT_PMP_PORT } from './natPmp.ts'
import { type FindNatRouter, type NatRouter, NatRouterError } from './natRouter.ts'
import { searchRouters } from './ssdp.ts'
import { openUpnpRouter } from './upnp.ts'

/** Routers answer a search within MX (1 s). The rest is for slow routers and lost packets. */
const SEARCH_MS = 5_000

/** Addresses to search for routers. Default: the networks of this machine. */
export interface SearchPlaces {
  natPmp?: { ips: readonly string[]; port: number }
  ssdp?: { to: { ip: string; port: number }; from: readonly string[] }
}

/** Tries NAT-PMP and UPnP at the same time. The first router that returns its external address is used. */
export function createNatRouterSearch(places: SearchPlaces = {}): FindNatRouter {
  const byNatPmp = async (signal: AbortSignal): Promise<NatRouter> => {
    const { ips, port } = places.natPmp ?? { ips: await routerCandidates(), port: NAT_PMP_PORT }
    try {
      return await Promise.any(ips.map((ip) => answering(createNatPmpRouter({ ip, port }), signal)))
    } catch (error) {
      throw error instanceof AggregateError && error.errors.length > 0
        ? error.errors[0]
        : new NatRouterError('no-answer', 'no router address to try by NAT-PMP')
    }
  }
  const byUpnp = async (signal: AbortSignal): Promise<NatRouter> => {
    const failures: unknown[] = []
    for await (const description of searchRouters(signal, places.ssdp)) {
      try {
        return await answering(await openUpnpRouter(description, signal), signal)
      } catch (error) {
        failures.push(error)
      }
    }
    throw failures[0] ?? new NatRouterError('no-answer', 'no UPnP router answers')
  }
  return async (signal) => {
    const enough = new AbortController()
    const until = AbortSignal.any([signal, enough.signal, AbortSignal.timeout(SEARCH_MS)])
    try {
      return await Promise.any([byNatPmp(until), byUpnp(until)])
    } catch (error) {
      const reasons = error instanceof AggregateError ? error.errors.map(describeError) : [describeError(error)]
      throw new NatRouterError('no-answer', `no router maps ports: ${reasons.filter((text) => text !== '').join('; ')}`)
    } finally {
      enough.abort()
    }
  }
}

async function answering(router: NatRouter, signal: AbortSignal): Promise<NatRouter> {
  await router.externalIp(signal)
  return router
}
