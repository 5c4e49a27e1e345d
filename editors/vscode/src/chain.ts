/** From the places of an answer to the chain that a person reads: layer by layer, from Python to the kernels. */

import type { Item } from "./protocol";

/** A layer, or one place in it. */
export interface Step {
  label: string;
  detail: string;
  /** The same in full: the view is narrow. */
  tooltip: string;
  /** A name of VS Code's icon set. */
  icon: string;
  item: Item | undefined;
  steps: Step[];
}

interface Layer {
  label: string;
  icon: string;
  roles: string[];
  /** Whether the layer is shown open. */
  open?: boolean;
}

/** In the order of a call; a role that is in none is shown at the end under its own name. */
const LAYERS: Layer[] = [
  { label: "Python", icon: "snake", roles: ["python", "docs", "registry"], open: true },
  { label: "Schema", icon: "symbol-interface", roles: ["yaml"], open: true },
  { label: "Derivative", icon: "symbol-operator", roles: ["derivative", "autograd_function"] },
  { label: "Kernels", icon: "symbol-function", roles: ["structured_meta", "structured_impl", "native", "stub_kernel"], open: true },
  { label: "Device kernels", icon: "chip", roles: ["gpu_kernel"], open: true },
  { label: "Registrations", icon: "plug", roles: ["registration", "batching_rule", "autocast"] },
  { label: "Other layers", icon: "layers", roles: ["decomposition", "meta", "ref", "lowering", "jit", "onnx", "shape"] },
  { label: "Tests", icon: "beaker", roles: ["test"] },
];

/** The layers that an answer has, each with its places. */
export function chain(items: Item[]): (Step & { open: boolean })[] {
  const known = new Set(LAYERS.flatMap((layer) => layer.roles));
  const others = [...new Set(items.map((item) => item.role))].filter((role) => !known.has(role));
  const layers = [...LAYERS, ...others.map((role) => ({ label: role, icon: "symbol-misc", roles: [role] }))];
  return layers.flatMap((layer: Layer) => {
    const own = eachOnce(items.filter((item) => layer.roles.includes(item.role) && item.file));
    if (own.length === 0) {
      return [];
    }
    const steps = own.map((item) => step(item, layer.icon));
    const { label, icon, open = false } = layer;
    return [{ label, detail: `${own.length}`, tooltip: label, icon, item: undefined, steps, open }];
  });
}

/** One kernel may serve several dispatch keys: it is shown once, with all of them. */
function eachOnce(items: Item[]): Item[] {
  const found = new Map<string, Item>();
  for (const item of items) {
    const place = `${item.symbol} ${item.file}:${item.line}`;
    const former = found.get(place);
    const keys = [former?.dispatch_key, item.dispatch_key].filter((key) => key);
    found.set(place, { ...(former ?? item), dispatch_key: [...new Set(keys)].join(", ") });
  }
  return [...found.values()];
}

function step(item: Item, icon: string): Step {
  const name = item.file.slice(item.file.lastIndexOf("/") + 1);
  const says = (...texts: (string | undefined)[]): string => texts.filter((text) => text).join(" · ");
  const detail = says(item.dispatch_key, `${name}:${item.line}`, item.note);
  const tooltip = [item.symbol, says(item.operator, item.dispatch_key, item.note), `${item.file}:${item.line}`];
  return { label: item.symbol, detail, tooltip: tooltip.filter((text) => text).join("\n"), icon, item, steps: [] };
}
