"""How the clients of agents are told of this server: what each one's configuration looks like, what it says
now, and how a server is put into it beside what is there."""
