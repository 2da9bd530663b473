-- HAProxy (2.6 or newer) asks gate about each request, with its own HTTP client:
--   http-request lua.gate http://127.0.0.1:9190/forwarded
-- What gate denies goes to the client as gate answers it. If gate cannot be asked, the client gets
-- 503.

local TIMEOUT = 5000 -- milliseconds
-- The value of authz.secret, if gate's configuration has one: start HAProxy with it in GATE_SECRET.
local SECRET = os.getenv("GATE_SECRET")
-- Fields of the connection, and those that are set below.
local OWN = {
  ["connection"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true,
  ["keep-alive"] = true, ["proxy-connection"] = true, ["te"] = true, ["transfer-encoding"] = true,
  ["upgrade"] = true,
  ["x-forwarded-for"] = true, ["x-forwarded-host"] = true, ["x-forwarded-method"] = true,
  ["x-forwarded-proto"] = true, ["x-forwarded-uri"] = true, ["x-gate-secret"] = true,
}

-- Fields that say what was asked, and by whom.
local CLAIMED = {
  "forwarded", "x-forwarded-method", "x-forwarded-port", "x-forwarded-server", "x-forwarded-uri",
  "x-real-ip",
}

local function described(txn)
  local fields = {}
  for name, values in pairs(txn.http:req_get_headers()) do
    if not OWN[name] then
      fields[name] = {}
      -- HAProxy counts from 0.
      for at = 0, #values do table.insert(fields[name], values[at]) end
    end
  end
  local tls = txn.f:ssl_fc()
  fields["x-forwarded-method"] = { txn.f:method() }
  fields["x-forwarded-proto"] = { (tls == 1 or tls == true or tls == "1") and "https" or "http" }
  fields["x-forwarded-host"] = { txn.sf:req_fhdr("host") }
  fields["x-forwarded-uri"] = { txn.f:pathq() }
  fields["x-forwarded-for"] = { txn.sf:src() }
  if SECRET then fields["x-gate-secret"] = { SECRET } end
  return fields
end

local function deny(txn, status, headers, body)
  local reply = txn:reply({ status = status, body = body })
  for name, values in pairs(headers) do
    if not OWN[name] then
      for at = 0, #values do
        if values[at] then reply:add_header(name, values[at]) end
      end
    end
  end
  txn:done(reply)
end

core.register_action("gate", { "http-req" }, function(txn, url)
  local asked = described(txn)
  local answer = core.httpclient():get({ url = url, headers = asked, timeout = TIMEOUT })
  if not answer or answer.status ~= 200 then
    local status = answer and answer.status or 0
    if status < 400 then return deny(txn, 503, {}, "") end
    return deny(txn, status, answer.headers, answer.body)
  end
  -- gate takes these fields for HAProxy's own, and applications believe them: clients must not set
  -- them.
  for _, name in ipairs(CLAIMED) do txn.http:req_del_header(name) end
  for _, name in ipairs({ "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto" }) do
    txn.http:req_set_header(name, asked[name][1] or "")
  end
  -- In a tunnel, nobody judges requests: only WebSocket may pass. An application would drop the
  -- fields that the client's `Connection` names, even those that are set here.
  local upgrade = txn.http:req_get_headers()["upgrade"]
  txn.http:req_del_header("connection")
  if upgrade and not upgrade[1] and upgrade[0]:lower() == "websocket" then
    txn.http:req_set_header("connection", "upgrade")
  else
    txn.http:req_del_header("upgrade")
  end
  txn.http:req_del_header("http2-settings")
  -- The session's login for the backend, instead of whatever the client sent.
  txn.http:req_del_header("authorization")
  local login = answer.headers["authorization"]
  if login then txn.http:req_set_header("authorization", login[0]) end
end, 1)
